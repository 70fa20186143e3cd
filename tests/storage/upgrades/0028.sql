select count_days('{bok_1,bok_2}', '{20405,20406}', '{5,4}', '{1,0}');
