"""Other benchmarks' own aggregation, and a strict one beside it: one file a benchmark, pure functions over plain rows.

The official functions repeat what the released code does, defects included, so that a number can be compared with a published
one. The strict functions count what is missing as zero, leave what a judge could not score out of the denominator and count it,
and refuse rows that do not say which task they are of.
"""
