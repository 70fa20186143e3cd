insert into key_usage_days values ('ten_1', 'key_1', 20411, 7);
