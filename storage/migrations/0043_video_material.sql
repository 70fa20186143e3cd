-- What sponsors send for the videos of their packages.
-- works with: 27

alter table bookings add column video_material text;
comment on column bookings.video_material is 'What the video is made from, in the words of the sponsor; null: nothing was sent.';
