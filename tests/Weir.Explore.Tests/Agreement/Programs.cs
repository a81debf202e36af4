using System.Collections.Concurrent;
using System.Diagnostics;
using System.Threading.Channels;

namespace Weir.Explore.Tests.Agreement;

/// <summary>The kinds of programs: one for each type, or family of types, that Explore has a model of or runs one operation at a time.</summary>
internal static partial class Programs
{
    /// <summary>With the programs of each build: where a model was mended, they have found that.</summary>
    public static readonly Dictionary<string, (Func<SmallProgram> Make, int[] Seeds)> Kinds = new()
    {
        ["SemaphoreSlim"] = (static () => new SemaphoreProgram(), [1, 4]),
        ["SemaphoreSlim, times"] = (static () => new SemaphoreTimesProgram(mayDispose: false), [1, 2]),
        ["SemaphoreSlim disposed of, times"] = (static () => new SemaphoreTimesProgram(mayDispose: true), [2, 6]),
        ["CancellationTokenSource"] = (static () => new CancellationProgram(), [2, 25, 1003]),
        ["CancellationTokenSource, times"] = (static () => new CancelAfterProgram(), [1, 2]),
        ["TaskCompletionSource"] = (static () => new SourceProgram(), [1, 2]),
        ["Awaits of one task"] = (static () => new AwaitProgram(), [2]),
        ["Tasks run in place"] = (static () => new InPlaceProgram(), [1, 2]),
        ["Tasks"] = (static () => new TaskProgram(), [2, 3]),
        ["Timer, times"] = (static () => new TimerProgram(), [1, 4]),
        ["ManualResetEventSlim, times"] = (static () => new EventProgram(), [2, 6]),
        ["Monitor, times"] = (static () => new MonitorProgram(), [1, 2]),
        ["Lock"] = (static () => new LockProgram(), [2, 41]),
        ["ConcurrentDictionary"] = (static () => new DictionaryProgram(), [1, 21]),
        ["ConcurrentBag"] = (static () => new BagProgram(), [1, 2]),
        ["Interfaces and delegates"] = (static () => new IndirectProgram(), [44, 70]),
        ["ImmutableInterlocked"] = (static () => new ImmutableProgram(), [1, 2]),
        ["Channel, unbounded"] = (static () => new ChannelProgram(Channel.CreateUnbounded<int>()), [1, 2]),
        ["Channel, unbounded, one reader"] =
            (static () => new ChannelProgram(Channel.CreateUnbounded<int>(new UnboundedChannelOptions { SingleReader = true }), hasOneReader: true), [1, 2]),
        ["Channel, bounded"] = (static () => new ChannelProgram(Channel.CreateBounded<int>(1)), [1, 2]),
        ["Channel, bounded, dropping"] = (static () => new ChannelProgram(
            Channel.CreateBounded<int>(new BoundedChannelOptions(1) { FullMode = BoundedChannelFullMode.DropOldest })), [1, 2]),
        ["Wait handles and counts"] = (static () => new SignalProgram(), [1, 2]),
        ["PeriodicTimer, times"] = (static () => new TickProgram(), [1, 2]),
        ["Completion"] = (static () => new CompletionProgram(), [1, 2]),
        ["Process"] = (static () => new ProcessProgram(), [1, 2]),
        ["ConcurrentQueue"] = (static () => new CollectionProgram(), [1, 2]),
        ["Thread"] = (static () => new ThreadProgram(), [1, 2]),
        ["Stopwatch, times"] = (static () => new StopwatchProgram(), [1]),
        ["Flags"] = (static () => new FlagProgram(), [24, 54]),
        ["Memory"] = (static () => new MemoryProgram(), [1, 2]),
    };

    private sealed class SemaphoreProgram : SmallProgram
    {
        private readonly SemaphoreSlim _semaphore = new(0);
        private readonly CancellationTokenSource _source = new();

        public SemaphoreProgram()
        {
            Add("Release", () => Number(_semaphore.Release()));
            Add("Release(2)", () => Number(_semaphore.Release(2)));
            AddLater("WaitAsync()", () => _semaphore.WaitAsync());
            AddLater("WaitAsync(token)", () => _semaphore.WaitAsync(_source.Token));
            AddLater("WaitAsync(token) too", () => _semaphore.WaitAsync(_source.Token));
            Add("Cancel", _source.Cancel);
            Add("Wait(0)", () => Bit(_semaphore.Wait(0)));
            Add("CurrentCount", () => Number(_semaphore.CurrentCount));
        }

        protected override Task<string> EndAsync() => Task.FromResult(Number(_semaphore.Release(6)));
    }

    private sealed class SemaphoreTimesProgram : SmallProgram
    {
        private readonly SemaphoreSlim _semaphore = new(0);
        private readonly CancellationTokenSource _source = new();

        public SemaphoreTimesProgram(bool mayDispose)
        {
            // A thread that stands in line behind tasks waits for ever, too, when the semaphore is disposed of.
            MayNeverEnd = true;
            Add("Release", () => Number(_semaphore.Release()));
            if (mayDispose)
            {
                Add("Dispose", _semaphore.Dispose);
            }
            else
            {
                Add("Wait(2)", () => Bit(_semaphore.Wait(2)));
                Add("Wait(2, token)", () => Bit(_semaphore.Wait(2, _source.Token)));
            }

            AddLater("WaitAsync()", () => _semaphore.WaitAsync());
            AddLater("WaitAsync(1)", () => _semaphore.WaitAsync(1));
            AddLater("WaitAsync(1, token)", () => _semaphore.WaitAsync(1, _source.Token));
            AddLater("WaitAsync(token)", () => _semaphore.WaitAsync(_source.Token));
            Add("Cancel", _source.Cancel);
        }

        protected override Task<string> EndAsync()
        {
            _source.Cancel();
            return Task.FromResult(Number(_semaphore.CurrentCount));
        }
    }

    private sealed class CancellationProgram : SmallProgram
    {
        private readonly CancellationTokenSource _source = new();
        private readonly CancellationTokenSource _linked;
        private readonly CancellationTokenRegistration _registration;
        private volatile int _calls;
        private volatile int _callsOfLinked;

        public CancellationProgram()
        {
            _registration = _source.Token.Register(() => _calls++);
            _linked = CancellationTokenSource.CreateLinkedTokenSource(_source.Token);
            _linked.Token.Register(() => _callsOfLinked++);
            Add("Cancel", () =>
            {
                _source.Cancel();
                return Number(_calls);
            });
            AddLater("CancelAsync", _source.CancelAsync);
            Add("CancelAsync, requested", () =>
            {
                _ = _source.CancelAsync();
                return Bit(_source.IsCancellationRequested);
            });
            Add("IsCancellationRequested", () => Bit(_source.IsCancellationRequested) + Bit(_linked.IsCancellationRequested));
            Add("Calls", () => Number(_calls) + Number(_callsOfLinked));
            Add("Register", () =>
            {
                using CancellationTokenRegistration unused = _source.Token.Register(() => _calls += 10);
                return Number(_calls);
            });
            Add("Dispose registration", () =>
            {
                _registration.Dispose();
                return Number(_calls);
            });
            AddAsync("DisposeAsync registration", async () =>
            {
                await _registration.DisposeAsync();
                return Number(_calls);
            });
            Add("Unregister", () => Bit(_registration.Unregister()));
            Add("TryReset", () => Bit(_source.TryReset()));
            Add("Dispose linked", () =>
            {
                _linked.Dispose();
                return Number(_callsOfLinked);
            });
            Add("Dispose", _source.Dispose);
            Add("ThrowIfCancellationRequested", () => _linked.Token.ThrowIfCancellationRequested());
        }

        protected override Task<string> EndAsync() => Task.FromResult($"{Bit(_source.IsCancellationRequested)} {_calls} {_callsOfLinked}");
    }

    private sealed class CancelAfterProgram : SmallProgram
    {
        private readonly CancellationTokenSource _source = new(1);
        private volatile int _calls;

        public CancelAfterProgram()
        {
            _source.Token.Register(() => _calls++);
            Add("CancelAfter(1)", () => _source.CancelAfter(1));
            Add("CancelAfter(infinite)", () =>
            {
                _source.CancelAfter(Timeout.Infinite);
                return Bit(_source.IsCancellationRequested);
            });
            AddAsync("TryReset", async () =>
            {
                bool isReset = _source.TryReset();
                await Task.Delay(3);
                return Bit(isReset) + Bit(_source.IsCancellationRequested) + Number(_calls);
            });
            AddAsync("TryReset of its own", async () =>
            {
                using CancellationTokenSource own = new(2);
                using CancellationTokenSource provided = new(TimeSpan.FromMilliseconds(2), TimeProvider.System);
                (bool isReset, bool isProvidedReset) = (own.TryReset(), provided.TryReset());
                await Task.Delay(4);
                return (isReset && own.IsCancellationRequested) || (isProvidedReset && provided.IsCancellationRequested) ? "late!"
                    : Bit(isReset) + Bit(isProvidedReset);
            });
            Add("Dispose", () =>
            {
                _source.Dispose();
                return Number(_calls);
            });
            Add("New(0)", () =>
            {
                using CancellationTokenSource none = new(0);
                return Bit(none.IsCancellationRequested);
            });
            Add("Sleep(2)", () =>
            {
                Thread.Sleep(2);
                return Bit(_source.IsCancellationRequested);
            });
            Add("Cancel", _source.Cancel);
        }

        protected override Task<string> EndAsync() => Task.FromResult(Number(_calls));
    }

    private sealed class SourceProgram : SmallProgram
    {
        private readonly TaskCompletionSource<int> _inline = new();
        private readonly TaskCompletionSource<int> _queued = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private volatile int _went;

        public SourceProgram()
        {
            Add("TrySetResult(1)", () => Bit(_inline.TrySetResult(1)) + Number(_went));
            Add("TrySetCanceled", () => Bit(_inline.TrySetCanceled()) + Number(_went));
            Add("TrySetException", () => Bit(_inline.TrySetException(new ArgumentException("known"))) + Number(_went));
            Add("queued TrySetResult(2)", () => Bit(_queued.TrySetResult(2)) + Number(_went));
            Add("SetResult", () => _queued.SetResult(3));
            Add("IsCompleted", () => Bit(_inline.Task.IsCompleted) + Bit(_queued.Task.IsCompleted) + Number(_went));
            Add("Status", () => _inline.Task.Status.ToString());
            AddLater("await", () => GoAsync(_inline.Task, 1));
            AddLater("queued await", () => GoAsync(_queued.Task, 1));
            AddLater("ContinueWith", () => _inline.Task.ContinueWith(_ => _went += 10));
            AddLater("ContinueWith synchronously", () => _inline.Task.ContinueWith(_ => _went += 10, TaskContinuationOptions.ExecuteSynchronously));
            AddLater("ContinueWith of results", () => _inline.Task.ContinueWith(static t => t.Result, TaskContinuationOptions.OnlyOnRanToCompletion));
        }

        protected override async Task<string> EndAsync()
        {
            _inline.TrySetResult(8);
            _queued.TrySetResult(9);
            return await HowAsync(_inline.Task) + await HowAsync(_queued.Task);
        }

        private async Task<int> GoAsync(Task<int> task, int adds)
        {
            int result = await task;
            _went += adds;
            return result;
        }
    }

    private sealed class TaskProgram : SmallProgram
    {
        private readonly TaskCompletionSource<int> _first = new();
        private readonly TaskCompletionSource<int> _second = new();
        private readonly CancellationTokenSource _source = new();

        public TaskProgram()
        {
            Add("first", () => Bit(_first.TrySetResult(1)));
            Add("second", () => Bit(_second.TrySetResult(2)));
            Add("first fails", () => Bit(_first.TrySetException(new ArgumentException("known"))));
            Add("Cancel", _source.Cancel);
            AddLater("WhenAll", () => Task.WhenAll(_first.Task, _second.Task));
            AddLater("WhenAny", AnyAsync);
            AddLater("WaitAsync(token)", () => _first.Task.WaitAsync(_source.Token));
            AddLater("Delay(token)", () => Task.Delay(TimeSpan.FromHours(1), _source.Token));
            AddLater("Run(token)", () => Task.Run(() => _first.Task.IsCompleted, _source.Token));
            AddLater("Run of a task", () => Task.Run(() => _second.Task));
            AddLater("Yield", YieldAsync);
            AddLater("value task", () => new ValueTask<int>(_second.Task).AsTask());
            AddLater("StartNew", () => Task.Factory.StartNew(() => _second.Task.IsCompleted));
            Add("WhenAll, at once", () => Bit(Task.WhenAll(_first.Task, _second.Task).IsCompleted));
            AddLater("Wait(token)", () => Task.Run(() => _first.Task.Wait(_source.Token)));
        }

        protected override async Task<string> EndAsync()
        {
            _first.TrySetResult(8);
            _second.TrySetResult(9);
            _source.Cancel();
            return await HowAsync(_first.Task) + await HowAsync(_second.Task);
        }

        private async Task<bool> AnyAsync() => await Task.WhenAny(_first.Task, _second.Task) == _first.Task;

        private async Task<bool> YieldAsync()
        {
            bool before = _first.Task.IsCompleted;
            await Task.Yield();
            return before == _first.Task.IsCompleted;
        }
    }

    private sealed class TimerProgram : SmallProgram
    {
        private readonly Timer _timer;
        private readonly ITimer _provided;
        private int _begun;
        private int _ended;

        public TimerProgram()
        {
            _timer = new Timer(_ => Call(), null, 1, Timeout.Infinite);
            _provided = TimeProvider.System.CreateTimer(_ => Call(), null, TimeSpan.FromMilliseconds(1), Timeout.InfiniteTimeSpan);
            Add("Change(1)", () => Bit(_timer.Change(1, Timeout.Infinite)));
            Add("Change(infinite)", () => Bit(_timer.Change(Timeout.Infinite, Timeout.Infinite)));
            Add("Dispose", () =>
            {
                _timer.Dispose();
                _provided.Dispose();
                return Calls();
            });
            AddAsync("DisposeAsync both", async () =>
            {
                await _timer.DisposeAsync();
                await _provided.DisposeAsync();
                string calls = Calls();
                await Task.Delay(2);
                return calls[0] != calls[1] || calls != Calls() ? "late!" : calls;
            });
            AddAsync("DisposeAsync", async () =>
            {
                await _provided.DisposeAsync();
                return Calls();
            });
            Add("Sleep(2)", () =>
            {
                Thread.Sleep(2);
                return Calls();
            });
        }

        protected override async Task<string> EndAsync()
        {
            await _timer.DisposeAsync();
            await _provided.DisposeAsync();
            return Calls();
        }

        private string Calls() => Number(Volatile.Read(ref _begun)) + Number(Volatile.Read(ref _ended));

        private void Call()
        {
            Interlocked.Increment(ref _begun);
            Interlocked.Increment(ref _ended);
        }
    }

    private sealed class EventProgram : SmallProgram
    {
        private readonly ManualResetEventSlim _event = new();
        private readonly CancellationTokenSource _source = new();

        public EventProgram()
        {
            Add("Set", _event.Set);
            Add("Reset", _event.Reset);
            Add("IsSet", () => Bit(_event.IsSet));
            Add("Wait(0)", () => Bit(_event.Wait(0)));
            Add("Wait(2)", () => Bit(_event.Wait(2)));
            Add("Wait(2, token)", () => Bit(_event.Wait(2, _source.Token)));
            Add("Cancel", _source.Cancel);
            Add("Dispose", _event.Dispose);
        }

        protected override Task<string> EndAsync() => Task.FromResult(Bit(_event.IsSet));
    }

    private sealed class MonitorProgram : SmallProgram
    {
        private readonly object _gate = new();
        private int _value;

        public MonitorProgram()
        {
            Add("lock", () =>
            {
                lock (_gate)
                {
                    return Number(_value = (_value * 2) + 1);
                }
            });
            Add("TryEnter", () =>
            {
                if (!Monitor.TryEnter(_gate))
                {
                    return "busy";
                }

                _value += 10;
                Monitor.Exit(_gate);
                return Number(_value);
            });
            Add("Wait(2)", () =>
            {
                lock (_gate)
                {
                    return Bit(Monitor.Wait(_gate, 2)) + Number(_value);
                }
            });
            Add("Pulse", () =>
            {
                lock (_gate)
                {
                    _value++;
                    Monitor.Pulse(_gate);
                }
            });
            Add("PulseAll", () =>
            {
                lock (_gate)
                {
                    Monitor.PulseAll(_gate);
                }
            });
            Add("Exit", () => Monitor.Exit(_gate));
            Add("TryEnter(2)", () =>
            {
                bool isTaken = false;
                Monitor.TryEnter(_gate, 2, ref isTaken);
                if (isTaken)
                {
                    _value++;
                    Monitor.Exit(_gate);
                }

                return Bit(isTaken) + Bit(Monitor.IsEntered(_gate));
            });
        }

        protected override Task<string> EndAsync() => Task.FromResult(Number(_value));
    }

    private sealed class LockProgram : SmallProgram
    {
        private readonly Lock _gate = new();
        private readonly Lazy<int> _lazy;
        private int _value;
        private volatile int _made;

        public LockProgram()
        {
            _lazy = new Lazy<int>(() => ++_made);
            Add("lock", () =>
            {
                lock (_gate)
                {
                    return Number(_value = (_value * 2) + 1);
                }
            });
            Add("TryEnter", () =>
            {
                if (!_gate.TryEnter())
                {
                    return "busy";
                }

                _value += 10;
                _gate.Exit();
                return Bit(_gate.IsHeldByCurrentThread);
            });
            Add("nested", () =>
            {
                lock (_gate)
                {
                    _gate.Enter();
                    _value += 100;
                    _gate.Exit();
                    return Bit(_gate.IsHeldByCurrentThread);
                }
            });
            Add("Exit", _gate.Exit);
            Add("Lazy", () => Number(_lazy.Value) + Number(_made));
            Add("IsValueCreated", () => Bit(_lazy.IsValueCreated) + Number(_made));
        }

        protected override Task<string> EndAsync() => Task.FromResult(Number(_value));
    }

    private sealed class DictionaryProgram : SmallProgram
    {
        private readonly ConcurrentDictionary<int, int> _map = new();
        private volatile int _made;

        public DictionaryProgram()
        {
            Add("GetOrAdd(made)", () => $"{_map.GetOrAdd(1, _ => ++_made)}{_made}");
            Add("GetOrAdd(argument)", () => Number(_map.GetOrAdd(1, static (key, added) => key + added, 40)));
            Add("GetOrAdd(5)", () => Number(_map.GetOrAdd(1, 5)));
            Add("AddOrUpdate(made)", () => $"{_map.AddOrUpdate(1, _ => ++_made, (_, old) => old + 10 + _made++)}{_made}");
            Add("AddOrUpdate(7)", () => $"{_map.AddOrUpdate(1, 7, (_, old) => old + 10 + _made++)}{_made}");
            Add("TryAdd", () => Bit(_map.TryAdd(1, 6)));
            Add("TryRemove", () => Bit(_map.TryRemove(1, out int removed)) + Number(removed));
            Add("TryUpdate", () => Bit(_map.TryUpdate(1, 9, 6)));
            Add("TryGetValue", () => Bit(_map.TryGetValue(1, out int value)) + Number(value));
            Add("set", () => _map[1] = 3);
            Add("Count", () => Number(_map.Count) + Bit(_map.IsEmpty));
        }

        protected override Task<string> EndAsync() => Task.FromResult(_map.TryGetValue(1, out int value) ? Number(value) : "none");
    }

    private sealed class CollectionProgram : SmallProgram
    {
        private readonly ConcurrentQueue<int> _queue = new();
        private readonly ConcurrentStack<int> _stack = new();
        private int _last;

        public CollectionProgram()
        {
            Add("Enqueue", () => _queue.Enqueue(Interlocked.Increment(ref _last)));
            Add("TryDequeue", () => Bit(_queue.TryDequeue(out int item)) + Number(item));
            Add("TryPeek", () => Bit(_queue.TryPeek(out int item)) + Number(item));
            Add("queue.Count", () => Number(_queue.Count) + Bit(_queue.IsEmpty));
            Add("queue.ToArray", () => string.Join(',', _queue.ToArray()));
            Add("Push", () => _stack.Push(Interlocked.Increment(ref _last)));
            Add("PushRange", () => _stack.PushRange([7, 8]));
            Add("TryPop", () => Bit(_stack.TryPop(out int item)) + Number(item));
            Add("stack.Clear", _stack.Clear);
            Add("stack.Count", () => Number(_stack.Count));
        }

        protected override Task<string> EndAsync() => Task.FromResult($"{string.Join(',', _queue)} {string.Join(',', _stack)}");
    }

    private sealed class ThreadProgram : SmallProgram
    {
        private volatile int _value;
        private int _sum;

        public ThreadProgram()
        {
            Add("Thread, Join", () =>
            {
                Thread thread = new(() => _value = (_value * 2) + 1);
                thread.Start();
                string alive = Bit(_value > 0);
                thread.Join();
                return $"{alive}{_value}{Bit(thread.IsAlive)}";
            });
            Add("Thread, Join(0)", () =>
            {
                Thread thread = new(() => Interlocked.Increment(ref _sum)) { IsBackground = true };
                thread.Start();
                string joined = Bit(thread.Join(0));
                thread.Join();
                return joined;
            });
            Add("Interrupt", () =>
            {
                string how = "";
                Thread thread = new(() =>
                {
                    try
                    {
                        Thread.Sleep(Timeout.Infinite);
                    }
                    catch (ThreadInterruptedException)
                    {
                        how = "interrupted";
                    }
                });
                thread.Start();
                thread.Interrupt();
                thread.Join();
                return how;
            });
            AddAsync("QueueUserWorkItem", async () =>
            {
                TaskCompletionSource<int> ended = new();
                ThreadPool.QueueUserWorkItem(_ => ended.SetResult(_value));
                return Number(await ended.Task);
            });
            Add("write", () => _value = 5);
            Add("read", () => Number(_value) + Number(Volatile.Read(ref _sum)));
            Add("CompareExchange", () => Number(Interlocked.CompareExchange(ref _sum, 7, 0)));
            Add("Yield", () =>
            {
                int before = _value;
                Thread.Yield();
                return Bit(before == _value);
            });
            Add("Start twice", () =>
            {
                Thread thread = new(() => Interlocked.Add(ref _sum, 10));
                thread.Start();
                try
                {
                    thread.Start();
                }
                finally
                {
                    thread.Join();
                }
            });
        }

        protected override Task<string> EndAsync() => Task.FromResult($"{_value} {_sum}");
    }

    private sealed class StopwatchProgram : SmallProgram
    {
        private readonly Stopwatch _watch = Stopwatch.StartNew();

        public StopwatchProgram()
        {
            Add("Sleep(2)", () =>
            {
                Stopwatch own = Stopwatch.StartNew();
                Thread.Sleep(2);
                own.Stop();
                TimeSpan passed = own.Elapsed;
                Thread.Sleep(2);
                return passed < TimeSpan.FromMilliseconds(2) ? "early!" : Bit(own.Elapsed == passed) + Bit(_watch.ElapsedMilliseconds >= 2);
            });
            Add("new", () =>
            {
                Stopwatch own = new();
                return Number((int)own.ElapsedTicks) + Bit(own.IsRunning);
            });
            Add("Restart", () =>
            {
                Stopwatch own = Stopwatch.StartNew();
                Thread.Sleep(2);
                own.Reset();
                string reset = Number((int)own.ElapsedTicks);
                own.Start();
                Thread.Sleep(1);
                return own.ElapsedTicks * 1000 < Stopwatch.Frequency ? "early!" : reset + Bit(own.IsRunning);
            });
            Add("clocks", () =>
            {
                long stamp = Stopwatch.GetTimestamp();
                DateTime now = DateTime.UtcNow;
                Thread.Sleep(5);
                return Bit(Stopwatch.GetElapsedTime(stamp) >= TimeSpan.FromMilliseconds(5)) + Bit(DateTime.UtcNow - now >= TimeSpan.FromMilliseconds(4));
            });
        }
    }

    /// <summary>Volatile and plain fields in one order, with a fence before each operation: what is seen of the plain one when the other is seen.</summary>
    private sealed class FlagProgram : SmallProgram
    {
        private volatile bool _flag;
        private bool _other;
        private int _plain;

        public FlagProgram()
        {
            Add("flag, then plain", () =>
            {
                Interlocked.MemoryBarrier();
                _flag = true;
                _plain = Late(1);
            });
            Add("plain, then flag", () =>
            {
                Interlocked.MemoryBarrier();
                _plain = 2;
                _flag = true;
            });
            Add("Volatile.Write, then plain", () =>
            {
                Interlocked.MemoryBarrier();
                Volatile.Write(ref _other, true);
                _plain = Late(5);
            });
            Add("read flag, then plain", () => Fenced() && _flag ? Number(_plain) : "no");
            Add("read other, then write plain", () => Fenced() && Volatile.Read(ref _other) ? Number(_plain = 4) : "no");
        }

        /// <summary>Some time later.</summary>
        private static int Late(int value)
        {
            int sum = 0;
            for (int i = 0; i < 300; i++)
            {
                sum = (sum * 31) + i;
            }

            return sum == 0 ? 0 : value;
        }

        private static bool Fenced()
        {
            Interlocked.MemoryBarrier();
            return true;
        }

        protected override Task<string> EndAsync() => Task.FromResult(Number(_plain));
    }

    /// <summary>Stores and loads, and what orders them, without anything in between that takes time: run with late stores.</summary>
    private sealed class MemoryProgram : SmallProgram
    {
        private static readonly string[] Steps = ["x=1", "x=2", "y=1", "y=2", "z=1", "z=2", "x", "y", "z", "x", "y", "z", "fence", "z+"];
        private readonly Place _place = new();

        public MemoryProgram()
        {
            (MostThreads, MostSteps) = (2, 1);
            Random random = new(5);
            for (int i = 0; i < 60; i++)
            {
                // A store, something, and a load: what a store buffer is about.
                int[] steps = [random.Next(6), random.Next(Steps.Length), random.Next(6, 9)];
                Add(string.Join(", ", steps.Select(static s => Steps[s])), () => Number(Run(_place, steps)));
            }
        }

        protected override Task<string> EndAsync() => Task.FromResult($"{_place.X}{_place.Y}{_place.Z}");

        private static int Run(Place place, int[] steps)
        {
            int seen = 0;
            foreach (int step in steps)
            {
                switch (step)
                {
                    case 0 or 1:
                        place.X = step + 1;
                        break;
                    case 2 or 3:
                        Volatile.Write(ref place.Y, step - 1);
                        break;
                    case 4 or 5:
                        Volatile.Write(ref place.Z, step - 3);
                        break;
                    case 6 or 9:
                        seen = (seen * 10) + place.X;
                        break;
                    case 7 or 10:
                        seen = (seen * 10) + Volatile.Read(ref place.Y);
                        break;
                    case 8 or 11:
                        seen = (seen * 10) + Volatile.Read(ref place.Z);
                        break;
                    case 12:
                        Interlocked.MemoryBarrier();
                        break;
                    default:
                        seen = (seen * 10) + Interlocked.Increment(ref place.Z);
                        break;
                }
            }

            return seen;
        }

        private sealed class Place
        {
            public volatile int X;
            public int Y;
            public int Z;
        }
    }
}
