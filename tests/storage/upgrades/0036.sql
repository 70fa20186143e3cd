select forget_in_audit('nobody@example.com', 'ten_1', '{}', 0, 1);
