; A checksum at the speed of memory (checksum.py): four sums, to each of which 16 of 64 bytes are added as
;
;     sum = sum * odd + fold((a ^ key) * (b ^ key'))        fold: the upper half of 128 bits xor the lower one
;
; Written out for each sum: of vectors of words, processors have no products of 128 bits, and take them apart for these.

define void @tirax_checksum(ptr noalias %sums, ptr noalias %keys, ptr noalias %data, i64 %blocks) {
entry:
  %sums0 = getelementptr i64, ptr %sums, i64 0
  %begin0 = load i64, ptr %sums0, align 8
  %a.keys0 = getelementptr i64, ptr %keys, i64 0
  %a.key0 = load i64, ptr %a.keys0, align 1
  %b.keys0 = getelementptr i64, ptr %keys, i64 4
  %b.key0 = load i64, ptr %b.keys0, align 1
  %sums1 = getelementptr i64, ptr %sums, i64 1
  %begin1 = load i64, ptr %sums1, align 8
  %a.keys1 = getelementptr i64, ptr %keys, i64 1
  %a.key1 = load i64, ptr %a.keys1, align 1
  %b.keys1 = getelementptr i64, ptr %keys, i64 5
  %b.key1 = load i64, ptr %b.keys1, align 1
  %sums2 = getelementptr i64, ptr %sums, i64 2
  %begin2 = load i64, ptr %sums2, align 8
  %a.keys2 = getelementptr i64, ptr %keys, i64 2
  %a.key2 = load i64, ptr %a.keys2, align 1
  %b.keys2 = getelementptr i64, ptr %keys, i64 6
  %b.key2 = load i64, ptr %b.keys2, align 1
  %sums3 = getelementptr i64, ptr %sums, i64 3
  %begin3 = load i64, ptr %sums3, align 8
  %a.keys3 = getelementptr i64, ptr %keys, i64 3
  %a.key3 = load i64, ptr %a.keys3, align 1
  %b.keys3 = getelementptr i64, ptr %keys, i64 7
  %b.key3 = load i64, ptr %b.keys3, align 1
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %sum0 = phi i64 [ %begin0, %entry ], [ %new0, %loop ]
  %sum1 = phi i64 [ %begin1, %entry ], [ %new1, %loop ]
  %sum2 = phi i64 [ %begin2, %entry ], [ %new2, %loop ]
  %sum3 = phi i64 [ %begin3, %entry ], [ %new3, %loop ]
  %more = icmp slt i64 %i, %blocks
  br i1 %more, label %loop, label %done
loop:
  %next = add i64 %i, 1
  %a.at0 = getelementptr [8 x i64], ptr %data, i64 %i, i64 0
  %a.word0 = load i64, ptr %a.at0, align 1
  %a0 = xor i64 %a.word0, %a.key0
  %b.at0 = getelementptr [8 x i64], ptr %data, i64 %i, i64 4
  %b.word0 = load i64, ptr %b.at0, align 1
  %b0 = xor i64 %b.word0, %b.key0
  %a.wide0 = zext i64 %a0 to i128
  %b.wide0 = zext i64 %b0 to i128
  %product0 = mul nuw i128 %a.wide0, %b.wide0
  %low0 = trunc i128 %product0 to i64
  %shifted0 = lshr i128 %product0, 64
  %high0 = trunc i128 %shifted0 to i64
  %folded0 = xor i64 %low0, %high0
  %moved0 = mul i64 %sum0, -7046029254386353131
  %new0 = add i64 %moved0, %folded0
  %a.at1 = getelementptr [8 x i64], ptr %data, i64 %i, i64 1
  %a.word1 = load i64, ptr %a.at1, align 1
  %a1 = xor i64 %a.word1, %a.key1
  %b.at1 = getelementptr [8 x i64], ptr %data, i64 %i, i64 5
  %b.word1 = load i64, ptr %b.at1, align 1
  %b1 = xor i64 %b.word1, %b.key1
  %a.wide1 = zext i64 %a1 to i128
  %b.wide1 = zext i64 %b1 to i128
  %product1 = mul nuw i128 %a.wide1, %b.wide1
  %low1 = trunc i128 %product1 to i64
  %shifted1 = lshr i128 %product1, 64
  %high1 = trunc i128 %shifted1 to i64
  %folded1 = xor i64 %low1, %high1
  %moved1 = mul i64 %sum1, -7046029254386353131
  %new1 = add i64 %moved1, %folded1
  %a.at2 = getelementptr [8 x i64], ptr %data, i64 %i, i64 2
  %a.word2 = load i64, ptr %a.at2, align 1
  %a2 = xor i64 %a.word2, %a.key2
  %b.at2 = getelementptr [8 x i64], ptr %data, i64 %i, i64 6
  %b.word2 = load i64, ptr %b.at2, align 1
  %b2 = xor i64 %b.word2, %b.key2
  %a.wide2 = zext i64 %a2 to i128
  %b.wide2 = zext i64 %b2 to i128
  %product2 = mul nuw i128 %a.wide2, %b.wide2
  %low2 = trunc i128 %product2 to i64
  %shifted2 = lshr i128 %product2, 64
  %high2 = trunc i128 %shifted2 to i64
  %folded2 = xor i64 %low2, %high2
  %moved2 = mul i64 %sum2, -7046029254386353131
  %new2 = add i64 %moved2, %folded2
  %a.at3 = getelementptr [8 x i64], ptr %data, i64 %i, i64 3
  %a.word3 = load i64, ptr %a.at3, align 1
  %a3 = xor i64 %a.word3, %a.key3
  %b.at3 = getelementptr [8 x i64], ptr %data, i64 %i, i64 7
  %b.word3 = load i64, ptr %b.at3, align 1
  %b3 = xor i64 %b.word3, %b.key3
  %a.wide3 = zext i64 %a3 to i128
  %b.wide3 = zext i64 %b3 to i128
  %product3 = mul nuw i128 %a.wide3, %b.wide3
  %low3 = trunc i128 %product3 to i64
  %shifted3 = lshr i128 %product3, 64
  %high3 = trunc i128 %shifted3 to i64
  %folded3 = xor i64 %low3, %high3
  %moved3 = mul i64 %sum3, -7046029254386353131
  %new3 = add i64 %moved3, %folded3
  br label %head
done:
  store i64 %sum0, ptr %sums0, align 8
  store i64 %sum1, ptr %sums1, align 8
  store i64 %sum2, ptr %sums2, align 8
  store i64 %sum3, ptr %sums3, align 8
  ret void
}
