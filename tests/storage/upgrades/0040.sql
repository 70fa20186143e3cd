insert into billing_details (tenant_id, legal_name, address, country, tax_id, reference, email)
values ('ten_1', 'Example Ltd', '1 Example Street', 'CH', '', '', '');
