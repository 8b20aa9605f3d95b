"""What `trainers.preflight` checks, one family of checks a file. A check takes a `Subject` and yields findings."""
