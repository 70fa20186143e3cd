insert into revenue_months values ('2001-01', 'usd', 'live', 2, 900, 300);
