; The threads of parallel loops (thread_pool.py); linked with what the system says, linux_x86_64.ll or another.

@job = internal global i32 0, align 128        ; counts the loops; workers wait for it to change
@tickets = internal global i32 0, align 128    ; how many workers may still join the loop
; Each share: the first iteration that is not handed out, and its end.
@shares = internal global [64 x [16 x i64]] zeroinitializer, align 128
@finished = internal global i32 0, align 128   ; how many workers joined the loop and are through
@sleepers = internal global i32 0, align 128   ; how many workers sleep, or are about to
@busy = internal global i32 0, align 128       ; whether a loop has the pool
@waiting = internal global i32 0               ; whether the caller sleeps, or is about to
@threads = internal global i32 1
@started = internal global i32 0               ; how many workers there are
@function = internal global ptr null           ; these four, and the shares: the loop
@context = internal global ptr null
@share_count = internal global i32 1
@part = internal global i64 1
@alone_until = internal global i64 0           ; before this time (ns) loops run on the caller: workers were held back
@saved = internal global double 0.0            ; what threads saved of late (ns), beside the caller alone
@patience = internal global double 1.6e1       ; how many times what was lost loops do without them

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i32 @sched_yield()
declare i64 @syscall(i64, ...)
declare i32 @clock_gettime(i32, ptr)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare i32 @llvm.smin.i32(i32, i32)

@tirax_futex = external constant i64           ; the number of the futex call
declare void @tirax_pause()                    ; the hint inside of a spinning loop

define internal void @sleep_while(ptr %word, i32 %value) {
  %futex = load i64, ptr @tirax_futex
  call i64 (i64, ...) @syscall(i64 %futex, ptr %word, i32 128, i32 %value, ptr null, ptr null, i32 0)
  ret void
}

define internal void @wake(ptr %word) {
  %futex = load i64, ptr @tirax_futex
  call i64 (i64, ...) @syscall(i64 %futex, ptr %word, i32 129, i32 2147483647, ptr null, ptr null, i32 0)
  ret void
}

; Run parts until none is left, first those of this thread's share; how many iterations that were.
define internal i64 @work(i32 %thread) {
entry:
  %f = load ptr, ptr @function
  %c = load ptr, ptr @context
  %part = load i64, ptr @part
  %shares = load i32, ptr @share_count
  %first = urem i32 %thread, %shares
  br label %share
share:
  %which = phi i32 [%first, %entry], [%next, %through]
  %before = phi i64 [0, %entry], [%sum, %through]
  %place = getelementptr [64 x [16 x i64]], ptr @shares, i64 0, i32 %which
  %last = getelementptr i64, ptr %place, i64 1
  %end = load i64, ptr %last
  br label %take
take:
  %sum = phi i64 [%before, %share], [%sum1, %run]
  %from = atomicrmw add ptr %place, i64 %part monotonic
  %some = icmp slt i64 %from, %end
  br i1 %some, label %run, label %through
run:
  %after = add i64 %from, %part
  %to = call i64 @llvm.smin.i64(i64 %after, i64 %end)
  call void %f(ptr %c, i64 %from, i64 %to)
  %ran = sub i64 %to, %from
  %sum1 = add i64 %sum, %ran
  br label %take
through:
  %one = add i32 %which, 1
  %next = urem i32 %one, %shares
  %around = icmp eq i32 %next, %first
  br i1 %around, label %done, label %share
done:
  ret i64 %sum
}

; The ticket with which this worker joins the loop, 1 or more; 0: it may not.
define internal i32 @join() {
entry:
  %first = load atomic i32, ptr @tickets acquire, align 4
  br label %try
try:
  %have = phi i32 [%first, %entry], [%found, %take]
  %some = icmp sgt i32 %have, 0
  br i1 %some, label %take, label %none
take:
  %less = sub i32 %have, 1
  %pair = cmpxchg ptr @tickets, i32 %have, i32 %less acq_rel acquire
  %found = extractvalue {i32, i1} %pair, 0
  %taken = extractvalue {i32, i1} %pair, 1
  br i1 %taken, label %yes, label %try
yes:
  ret i32 %have
none:
  ret i32 0
}

; Look for a while, then sleep, until the word is no longer this value; %flag counts or says who sleeps. Who spins gives
; its core away now and then: the thread that it waits for may be held back on that very core.
define internal void @wait_while(ptr %word, i32 %value, ptr %flag) {
entry:
  br label %look
look:
  %count = phi i32 [0, %entry], [%count1, %again], [%count1, %yield]
  %now = load atomic i32, ptr %word acquire, align 4
  %same = icmp eq i32 %now, %value
  br i1 %same, label %pause, label %done
pause:
  call void @tirax_pause()
  %count1 = add i32 %count, 1
  %long = icmp sgt i32 %count1, 2048
  br i1 %long, label %sleep, label %again
again:
  %phase = and i32 %count1, 127
  %turn = icmp eq i32 %phase, 0
  br i1 %turn, label %yield, label %look
yield:
  call i32 @sched_yield()
  br label %look
sleep:
  atomicrmw add ptr %flag, i32 1 seq_cst
  br label %check
check:
  %last = load atomic i32, ptr %word seq_cst, align 4
  %still = icmp eq i32 %last, %value
  br i1 %still, label %rest, label %up
rest:
  call void @sleep_while(ptr %word, i32 %value)
  br label %check
up:
  atomicrmw sub ptr %flag, i32 1 seq_cst
  br label %done
done:
  ret void
}

define internal ptr @worker(ptr %unused) {
entry:
  %signals = alloca [256 x i8], align 8
  call i32 @sigfillset(ptr %signals)
  call i32 @pthread_sigmask(i32 0, ptr %signals, ptr null)   ; signals are the Python threads'
  br label %loop
loop:
  %seen = load atomic i32, ptr @job acquire, align 4
  %ticket = call i32 @join()
  %joined = icmp ne i32 %ticket, 0
  br i1 %joined, label %run, label %idle
run:
  call i64 @work(i32 %ticket)
  atomicrmw add ptr @finished, i32 1 seq_cst
  %asleep = load atomic i32, ptr @waiting seq_cst, align 4
  %someone = icmp ne i32 %asleep, 0
  br i1 %someone, label %signal, label %loop
signal:
  call void @wake(ptr @finished)
  br label %loop
idle:
  call void @wait_while(ptr @job, i32 %seen, ptr @sleepers)
  br label %loop
}

; Start workers until there are so many; returns how many there are.
define internal i32 @start(i32 %wanted) {
entry:
  %thread = alloca i64
  br label %check
check:
  %have = load i32, ptr @started
  %enough = icmp sge i32 %have, %wanted
  br i1 %enough, label %done, label %more
more:
  %failed = call i32 @pthread_create(ptr %thread, ptr null, ptr @worker, ptr null)
  %ok = icmp eq i32 %failed, 0
  br i1 %ok, label %count, label %done
count:
  %id = load i64, ptr %thread
  call i32 @pthread_detach(i64 %id)
  %have1 = add i32 %have, 1
  store i32 %have1, ptr @started
  br label %check
done:
  %now = load i32, ptr @started
  %usable = call i32 @llvm.smin.i32(i32 %now, i32 %wanted)
  ret i32 %usable
}

; How many workers a loop of so many iterations gets beside the caller.
define internal i32 @helpers(i64 %count, i64 %grain, i64 %limit) {
  %threads = load atomic i32, ptr @threads monotonic, align 4
  %all = sext i32 %threads to i64
  %unlimited = icmp sle i64 %limit, 0
  %bound = select i1 %unlimited, i64 %all, i64 %limit
  %most = call i64 @llvm.smin.i64(i64 %all, i64 %bound)
  %more = add i64 %count, %grain
  %less = sub i64 %more, 1
  %parts = sdiv i64 %less, %grain
  %used = call i64 @llvm.smin.i64(i64 %most, i64 %parts)
  %others = sub i64 %used, 1
  %result = trunc i64 %others to i32
  ret i32 %result
}

; Divide a loop among so many threads, evenly.
define internal void @divide(i64 %begin, i64 %count, i32 %threads) {
entry:
  %shares = call i32 @llvm.smin.i32(i32 %threads, i32 64)
  store i32 %shares, ptr @share_count
  %wide = zext i32 %shares to i64
  %even = udiv i64 %count, %wide
  %rest = urem i64 %count, %wide
  br label %share
share:
  %i = phi i64 [0, %entry], [%i1, %share]
  %from = phi i64 [%begin, %entry], [%to, %share]
  %longer = icmp ult i64 %i, %rest
  %more = zext i1 %longer to i64
  %size = add i64 %even, %more
  %to = add i64 %from, %size
  %place = getelementptr [64 x [16 x i64]], ptr @shares, i64 0, i64 %i
  %last = getelementptr i64, ptr %place, i64 1
  store i64 %to, ptr %last
  store atomic i64 %from, ptr %place monotonic, align 8
  %i1 = add i64 %i, 1
  %all = icmp eq i64 %i1, %wide
  br i1 %all, label %done, label %share
done:
  ret void
}

; Tell the workers of a loop. The share of a thread is cut into four parts, so that threads which are held back do not
; decide the time: others take what is left of it.
define internal void @publish(ptr %f, ptr %c, i64 %begin, i64 %end, i64 %grain, i32 %helpers) {
entry:
  %count = sub i64 %end, %begin
  %several = add i32 %helpers, 1
  %wide = sext i32 %several to i64
  %parts = mul i64 %wide, 4
  %more = add i64 %count, %parts
  %less = sub i64 %more, 1
  %even = sdiv i64 %less, %parts
  %part = call i64 @llvm.smax.i64(i64 %even, i64 %grain)
  store ptr %f, ptr @function
  store ptr %c, ptr @context
  store i64 %part, ptr @part
  call void @divide(i64 %begin, i64 %count, i32 %several)
  store atomic i32 0, ptr @finished monotonic, align 4
  store atomic i32 %helpers, ptr @tickets seq_cst, align 4
  atomicrmw add ptr @job, i32 1 seq_cst
  %asleep = load atomic i32, ptr @sleepers seq_cst, align 4
  %some = icmp ne i32 %asleep, 0
  br i1 %some, label %rouse, label %done
rouse:
  call void @wake(ptr @job)
  br label %done
done:
  ret void
}

; Wait for the workers that joined; no other may join any more.
define internal void @collect(i32 %helpers) {
entry:
  %left = atomicrmw xchg ptr @tickets, i32 0 acq_rel
  %joined = sub i32 %helpers, %left
  br label %check
check:
  %now = load atomic i32, ptr @finished acquire, align 4
  %all = icmp eq i32 %now, %joined
  br i1 %all, label %done, label %wait
wait:
  call void @wait_while(ptr @finished, i32 %now, ptr @waiting)
  br label %check
done:
  ret void
}

; The time in ns of a clock that goes on steadily (CLOCK_MONOTONIC).
define internal i64 @now() {
  %time = alloca {i64, i64}
  call i32 @clock_gettime(i32 1, ptr %time)
  %whole = load i64, ptr %time
  %place = getelementptr {i64, i64}, ptr %time, i32 0, i32 1
  %rest = load i64, ptr %place
  %scaled = mul i64 %whole, 1000000000
  %all = add i64 %scaled, %rest
  ret i64 %all
}

; What a loop took beside what the caller alone would have needed, by the time that its own iterations took: less where
; threads help, more where the system has given their cores to others. The losses of late count against the gains of
; late; where they prevail, loops do without workers for 16 times what was lost, and for twice as long each time that this
; happens again before threads have saved anything, a second at most. So a busy machine costs a sixteenth at first.
define internal void @judge(i64 %begun, i64 %published, i64 %worked, i64 %mine, i64 %count) {
entry:
  %end = call i64 @now()
  %own = sub i64 %worked, %published
  %took = sub i64 %end, %begun
  %own.f = sitofp i64 %own to double
  %mine.f = sitofp i64 %mine to double
  %count.f = sitofp i64 %count to double
  %took.f = sitofp i64 %took to double
  %some = icmp sgt i64 %mine, 0
  br i1 %some, label %weigh, label %nothing
nothing:                                       ; the caller came too late for its own loop: nothing is known
  ret void
weigh:
  %share = fdiv double %count.f, %mine.f
  %alone = fmul double %own.f, %share
  %gain = fsub double %alone, %took.f
  %before = load double, ptr @saved
  %kept = fmul double %before, 9.375e-1
  %saved = fadd double %kept, %gain
  store double %saved, ptr @saved
  %gained = fcmp oge double %saved, 0.0
  br i1 %gained, label %good, label %loss
good:
  store double 1.6e1, ptr @patience
  ret void
loss:
  %much = fcmp olt double %saved, -5.0e4       ; 50 microseconds: more than it costs to wake threads that sleep
  br i1 %much, label %bad, label %little
little:
  ret void
bad:
  %patience = load double, ptr @patience
  %scaled = fmul double %saved, %patience
  %lasting = fsub double 0.0, %scaled
  %short = fcmp olt double %lasting, 1.0e9
  %for = select i1 %short, double %lasting, double 1.0e9
  %for.i = fptosi double %for to i64
  %until = add i64 %end, %for.i
  %longer = fmul double %patience, 2.0
  %bounded = fcmp olt double %longer, 4.096e3
  %next = select i1 %bounded, double %longer, double 4.096e3
  store i64 %until, ptr @alone_until
  store double 0.0, ptr @saved
  store double %next, ptr @patience
  ret void
}

define void @tirax_parallel_for(ptr %f, ptr %c, i64 %begin, i64 %end, i64 %grain0, i64 %limit) {
entry:
  %grain = call i64 @llvm.smax.i64(i64 %grain0, i64 1)
  %count = sub i64 %end, %begin
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %size, label %nothing
nothing:
  ret void
size:
  %wanted = call i32 @helpers(i64 %count, i64 %grain, i64 %limit)
  %several = icmp sgt i32 %wanted, 0
  br i1 %several, label %claim, label %alone
claim:
  %pair = cmpxchg ptr @busy, i32 0, i32 1 acq_rel monotonic
  %mine = extractvalue {i32, i1} %pair, 1
  br i1 %mine, label %ask, label %alone
ask:
  %begun = call i64 @now()
  %until = load i64, ptr @alone_until
  %early = icmp slt i64 %begun, %until
  br i1 %early, label %without, label %together
without:
  store atomic i32 0, ptr @busy release, align 4
  br label %alone
together:
  %helpers = call i32 @start(i32 %wanted)
  call void @publish(ptr %f, ptr %c, i64 %begin, i64 %end, i64 %grain, i32 %helpers)
  %published = call i64 @now()
  %ran = call i64 @work(i32 0)
  %worked = call i64 @now()
  call void @collect(i32 %helpers)
  call void @judge(i64 %begun, i64 %published, i64 %worked, i64 %ran, i64 %count)
  store atomic i32 0, ptr @busy release, align 4
  ret void
alone:
  call void %f(ptr %c, i64 %begin, i64 %end)
  ret void
}

define void @pool_set_threads(i32 %count) {
  store atomic i32 %count, ptr @threads monotonic, align 4
  store i64 0, ptr @alone_until                ; it is tried at once; patience stays what it was
  store double 0.0, ptr @saved
  ret void
}

define i32 @pool_threads() {
  %count = load atomic i32, ptr @threads monotonic, align 4
  ret i32 %count
}

; In the child of a fork, where no worker exists.
define void @pool_reset() {
  store i32 0, ptr @started
  store i32 0, ptr @busy
  store i32 0, ptr @tickets
  store i32 0, ptr @sleepers
  store i32 0, ptr @waiting
  store i64 0, ptr @alone_until
  store double 0.0, ptr @saved
  store double 1.6e1, ptr @patience
  ret void
}
