"""Makes and checks a release: the wheel, the bill of materials, the licences and known vulnerabilities of what it needs."""
