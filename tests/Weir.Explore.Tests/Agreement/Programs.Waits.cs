using System.Threading.Tasks.Sources;

namespace Weir.Explore.Tests.Agreement;

/// <content>Events, counts and ticks that are waited for, completions, and what the process has.</content>
internal static partial class Programs
{
    private sealed class SignalProgram : SmallProgram
    {
        private readonly AutoResetEvent _auto = new(false);
        private readonly ManualResetEvent _manual = new(false);
        private readonly EventWaitHandle _handle = new(false, EventResetMode.AutoReset);
        private readonly CountdownEvent _count = new(2);
        private readonly Barrier _barrier = new(1);

        public SignalProgram()
        {
            Add("auto.Set", () => Bit(_auto.Set()));
            Add("auto.Reset", () => Bit(_auto.Reset()));
            Add("auto.WaitOne(0)", () => Bit(_auto.WaitOne(0)));
            Add("manual.Set", () => Bit(_manual.Set()));
            Add("manual.WaitOne(0)", () => Bit(_manual.WaitOne(TimeSpan.Zero)));
            Add("handle.Set", () => Bit(_handle.Set()));
            Add("WaitAny(0)", () => Number(WaitHandle.WaitAny([_auto, _manual, _handle], 0)));
            Add("WaitAll(0)", () => Bit(WaitHandle.WaitAll([_auto, _manual], 0)));
            Add("Signal", () => Bit(_count.Signal()));
            Add("TryAddCount", () => Bit(_count.TryAddCount()));
            Add("count.Wait(0)", () => Bit(_count.Wait(0)) + Number(_count.CurrentCount));
            Add("SignalAndWait", () => Bit(_barrier.SignalAndWait(0)));
            Add("AddParticipant", () => Number((int)_barrier.AddParticipant() + _barrier.ParticipantCount));
            Add("RemoveParticipant", _barrier.RemoveParticipant);
            Add("auto.Dispose", _auto.Dispose);
        }

        protected override Task<string> EndAsync() =>
            Task.FromResult($"{Bit(_manual.WaitOne(0))}{Bit(_handle.WaitOne(0))} {_count.CurrentCount} {_barrier.CurrentPhaseNumber}");
    }

    private sealed class TickProgram : SmallProgram
    {
        private readonly PeriodicTimer _timer = new(TimeSpan.FromMilliseconds(2));
        private readonly CancellationTokenSource _source = new();

        public TickProgram()
        {
            AddLater("WaitForNextTickAsync", () => _timer.WaitForNextTickAsync().AsTask());
            AddLater("WaitForNextTickAsync(token)", () => _timer.WaitForNextTickAsync(_source.Token).AsTask());
            Add("Dispose", _timer.Dispose);
            Add("Cancel", _source.Cancel);
            Add("Period", () => _timer.Period = TimeSpan.FromMilliseconds(1));
        }
    }

    /// <summary>Sources of value tasks, and tasks in the order in which they end.</summary>
    private sealed class CompletionProgram : SmallProgram
    {
        private readonly Source _queued = new() { RunsAsynchronously = true };
        private readonly Source _inline = new();
        private readonly TaskCompletionSource<int> _first = new();
        private readonly TaskCompletionSource<int> _second = new();
        private readonly TaskCompletionSource _plain = new();
        private readonly IAsyncEnumerable<Task<int>> _each;
        private readonly Task<int> _inner;
        private volatile int _went;

        public CompletionProgram()
        {
            _each = Task.WhenEach(_first.Task, _second.Task);
            _inner = _first.Task.ContinueWith(_ => _second.Task).Unwrap();
            _ = GoAsync(_queued.Task, 1);
            _ = GoAsync(_inline.Task, 10);
            Add("queued", () => Bit(_queued.TrySet(4)) + Number(_went));
            Add("inline", () => Bit(_inline.TrySet(5)) + Number(_went));
            Add("Status", () => _queued.Task.IsCompleted + Number(_went));
            Add("first", () => Bit(_first.TrySetResult(1)) + Bit(_inner.IsCompleted));
            Add("second", () => Bit(_second.TrySetResult(2)) + Bit(_inner.IsCompleted));
            Add("plain", () => Bit(_plain.TrySetResult()));
            Add("plain fails", () => Bit(_plain.TrySetException(new ArgumentException("known"))));
            AddLater("await plain", async () => await _plain.Task);
            Add("WaitAny(0)", () => Number(Task.WaitAny([_first.Task, _second.Task], 0)));
            AddLater("WaitAny", () => Task<int>.Factory.StartNew(() => Task.WaitAny(_first.Task, _second.Task)));
            Add("async void", () =>
            {
                GoVoid();
                return Number(_went);
            });
        }

        protected override async Task<string> EndAsync()
        {
            _queued.TrySet(6);
            _inline.TrySet(7);
            _plain.TrySetCanceled();
            _first.TrySetResult(8);
            _second.TrySetResult(9);
            string order = "";
            await foreach (Task<int> one in _each)
            {
                order += Number(await one);
            }

            return $"{order} {await _inner}";
        }

        private async Task GoAsync(ValueTask<int> task, int adds)
        {
            await task;
            _went += adds;
        }

        private async void GoVoid()
        {
            await _first.Task;
            Interlocked.Add(ref _went, 100);
        }

        private sealed class Source : IValueTaskSource<int>
        {
            private ManualResetValueTaskSourceCore<int> _core;
            private int _isSet;

            public bool RunsAsynchronously
            {
                init => _core.RunContinuationsAsynchronously = value;
            }

            public ValueTask<int> Task => new(this, _core.Version);

            public bool TrySet(int value)
            {
                bool isFirst = Interlocked.Exchange(ref _isSet, 1) == 0;
                if (isFirst)
                {
                    _core.SetResult(value);
                }

                return isFirst;
            }

            public int GetResult(short token) => _core.GetResult(token);

            public ValueTaskSourceStatus GetStatus(short token) => _core.GetStatus(token);

            public void OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
                _core.OnCompleted(continuation, state, token, flags);
        }
    }

    /// <summary>Several awaits of one task: the first one goes on on the thread that ends it, and the others on the pool.</summary>
    private sealed class AwaitProgram : SmallProgram
    {
        private readonly TaskCompletionSource _source = new();
        private volatile int _went;

        public AwaitProgram()
        {
            AddLater("await", () => GoAsync(1));
            AddLater("await twice", () => Task.WhenAll(GoAsync(10), GoAsync(100)));
            AddLater("await of a value task", async () =>
            {
                await new ValueTask(_source.Task).ConfigureAwait(false);
                Interlocked.Add(ref _went, 1_000);
            });
            AddLater("ContinueWith", () => _source.Task.ContinueWith(_ => Interlocked.Add(ref _went, 10_000), TaskContinuationOptions.ExecuteSynchronously));
            AddLater("WhenAny", async () =>
            {
                await Task.WhenAny(_source.Task, Task.Delay(Timeout.Infinite));
                Interlocked.Add(ref _went, 100_000);
            });
            Add("TrySetResult", () => Bit(_source.TrySetResult()) + Number(_went));
        }

        protected override Task<string> EndAsync()
        {
            _source.TrySetResult();
            return Task.FromResult("");
        }

        private async Task GoAsync(int adds)
        {
            await _source.Task;
            Interlocked.Add(ref _went, adds);
        }
    }

    /// <summary>Waits for tasks that their thread has queued: it may run them itself, with all that it holds.</summary>
    private sealed class InPlaceProgram : SmallProgram
    {
        private readonly object _gate = new();
        private int _value;

        public InPlaceProgram()
        {
            Add("Result", () => Bit(Task.Run(IsHere(Environment.CurrentManagedThreadId)).Result));
            Add("Wait(1 hour)", () =>
            {
                Task<bool> task = Task.Run(IsHere(Environment.CurrentManagedThreadId));
                return Bit(task.Wait(TimeSpan.FromHours(1)) && task.Result);
            });
            Add("GetResult", () => Bit(Task.Factory.StartNew(IsHere(Environment.CurrentManagedThreadId)).GetAwaiter().GetResult()));
            Add("LongRunning", () => Bit(Task.Factory.StartNew(IsHere(Environment.CurrentManagedThreadId), TaskCreationOptions.LongRunning).Result));
            Add("WaitAll", () =>
            {
                Func<bool> isHere = IsHere(Environment.CurrentManagedThreadId);
                Task<bool>[] tasks = [Task.Run(isHere), Task.Run(isHere)];
                Task.WaitAll(tasks);
                return Bit(tasks[0].Result) + Bit(tasks[1].Result);
            });
            Add("of a thread", () =>
            {
                bool isHere = false;
                Thread thread = new(() => isHere = Task.Run(IsHere(Environment.CurrentManagedThreadId)).Result);
                thread.Start();
                thread.Join();
                return Bit(isHere);
            });
            Add("within a lock", () =>
            {
                lock (_gate)
                {
                    return Bit(Task.Run(() => Monitor.TryEnter(_gate) && ++_value > 0).Result);
                }
            });
            Add("write", () => Number(Interlocked.Increment(ref _value)));
        }

        protected override Task<string> EndAsync() => Task.FromResult(Number(_value));

        private static Func<bool> IsHere(int thread) => () => Environment.CurrentManagedThreadId == thread;
    }

    /// <summary>What a thread asks of the process: its clocks, its numbers, its schedulers. All of it comes to the same in any order.</summary>
    private sealed class ProcessProgram : SmallProgram
    {
        private readonly object _held = new();
        private volatile int _value;

        public ProcessProgram()
        {
            WeakReference<object> weak = new(_held);
            Add("SpinUntil", () => Bit(SpinWait.SpinUntil(() => Interlocked.Increment(ref _value) > 2, Timeout.Infinite)));
            Add("SpinOnce", () =>
            {
                SpinWait spin = default;
                spin.SpinOnce();
                return Number(spin.Count);
            });
            Add("WeakReference", () =>
            {
                weak.SetTarget(_held);
                return Bit(weak.TryGetTarget(out _));
            });
            Add("Random", () => Bit(new Random().Next(3) < 3 && Random.Shared.Next(3) < 3));
            Add("Environment", () => Bit(Environment.CurrentManagedThreadId == Environment.CurrentManagedThreadId && Environment.ProcessorCount > 0));
            Add("clocks", () =>
            {
                (DateTimeOffset first, DateTime second, long ticks) = (DateTimeOffset.UtcNow, DateTime.UtcNow, Environment.TickCount64);
                return Bit(first <= DateTimeOffset.UtcNow && second <= DateTime.UtcNow && ticks <= Environment.TickCount64);
            });
            AddAsync("TimeProvider", async () =>
            {
                int calls = 0;
                IAsyncDisposable timer = TimeProvider.System.CreateTimer(_ => Interlocked.Increment(ref calls), null, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
                bool isChanged = ((ITimer)timer).Change(TimeSpan.FromHours(1), Timeout.InfiniteTimeSpan);
                await timer.DisposeAsync();
                return Bit(isChanged) + Number(calls);
            });
            AddAsync("Post", async () =>
            {
                TaskCompletionSource<int> posted = new(TaskCreationOptions.RunContinuationsAsynchronously);
                new SynchronizationContext().Post(_ => posted.SetResult(Interlocked.Increment(ref _value)), null);
                return Number(await posted.Task);
            });
            Add("events", () =>
            {
                AppDomain.CurrentDomain.ProcessExit += Ignore;
                AppDomain.CurrentDomain.ProcessExit -= Ignore;
            });
            Add("TaskScheduler", () => Bit(TaskScheduler.Current == TaskScheduler.Default));
            Add("StartNew", () => Number(Task.Factory.StartNew(() => Interlocked.Increment(ref _value)).Result));
            Add("IDisposable", () =>
            {
                IDisposable disposable = new CancellationTokenSource();
                disposable.Dispose();
            });
        }

        protected override Task<string> EndAsync() => Task.FromResult(Number(_value));

        private static void Ignore(object? sender, EventArgs e)
        {
        }
    }
}
