"""Values and rules that several concerns share: ids, credentials, codes, limits, audit records. Knows no concern."""
