"""The report on one run or two: tables, figures and a page to browse episodes in, from episodes alone."""
