; A checksum at the speed of memory (checksum.py): four sums, to each of which 16 of 64 bytes are added as
;
;     sum = sum * odd + fold((a ^ key) * (b ^ key'))        fold: the upper half of 128 bits xor the lower one

define void @tirax_checksum(ptr noalias %sums, ptr noalias %keys, ptr noalias %data, i64 %blocks) {
entry:
  %begin = load <4 x i64>, ptr %sums, align 8
  %a.key = load <4 x i64>, ptr %keys, align 1
  %b.keys = getelementptr <4 x i64>, ptr %keys, i64 1
  %b.key = load <4 x i64>, ptr %b.keys, align 1
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %sum = phi <4 x i64> [ %begin, %entry ], [ %new, %loop ]
  %more = icmp slt i64 %i, %blocks
  br i1 %more, label %loop, label %done
loop:
  %block = getelementptr [64 x i8], ptr %data, i64 %i
  %a.word = load <4 x i64>, ptr %block, align 1
  %a = xor <4 x i64> %a.word, %a.key
  %rest = getelementptr <4 x i64>, ptr %block, i64 1
  %b.word = load <4 x i64>, ptr %rest, align 1
  %b = xor <4 x i64> %b.word, %b.key
  %a.wide = zext <4 x i64> %a to <4 x i128>
  %b.wide = zext <4 x i64> %b to <4 x i128>
  %product = mul nuw <4 x i128> %a.wide, %b.wide
  %low = trunc <4 x i128> %product to <4 x i64>
  %shifted = lshr <4 x i128> %product, <i128 64, i128 64, i128 64, i128 64>
  %high = trunc <4 x i128> %shifted to <4 x i64>
  %folded = xor <4 x i64> %low, %high
  %moved = mul <4 x i64> %sum, <i64 -7046029254386353131, i64 -7046029254386353131, i64 -7046029254386353131, i64 -7046029254386353131>
  %new = add <4 x i64> %moved, %folded
  %next = add i64 %i, 1
  br label %head
done:
  store <4 x i64> %sum, ptr %sums, align 8
  ret void
}
