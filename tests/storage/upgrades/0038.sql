insert into event_filtered values ('bok_1', 20402, 5, 4, 3, 2, 1);
