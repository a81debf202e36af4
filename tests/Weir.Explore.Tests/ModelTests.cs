using System.Collections.Concurrent;
using System.Diagnostics;
using System.Reflection;
using System.Threading.Channels;

namespace Weir.Explore.Tests;

/// <summary>What of the platform works as it does without the explorer, through every schedule.</summary>
public class ModelTests
{
    private static readonly AsyncLocal<int> Local = new();
    private static readonly List<int> Left = [];
    private static readonly ConcurrentDictionary<int, int> Cache = new();

    [ThreadStatic]
    private static int _ofThread;

    [Fact]
    public void Statics_BetweenSchedules_AreNew() => Exhaust(static async () =>
    {
        Assert.Empty(Left);
        Left.Add(1);
        Assert.True(Cache.TryAdd(1, 1));
        await Task.WhenAll(Task.Run(static () => Assert.Equal(1, ++_ofThread)), Task.Run(static () => Assert.Equal(1, ++_ofThread)));
    });

    // A handler for each schedule stayed, with all that it holds: a hundred thousand of them took minutes to leave at the next assembly.
    [Fact]
    public void ProcessEvents_OfASchedule_AreNotHeardAfterIt()
    {
        const string Heard = "Weir.Explore.Tests heard";
        Exhaust(static async () =>
        {
            AppDomain.CurrentDomain.AssemblyLoad += static (_, _) => AppDomain.CurrentDomain.SetData(Heard, true);
            AppDomain.CurrentDomain.ProcessExit += static (_, _) => AppDomain.CurrentDomain.SetData(Heard, true);
            await Task.Yield();
        });

        Assembly.Load(File.ReadAllBytes(typeof(ModelTests).Assembly.Location));

        Assert.Null(AppDomain.CurrentDomain.GetData(Heard));
    }

    [Fact]
    public void SourcesOfSpans_OfASchedule_GoWithIt()
    {
        Exhaust(static async () =>
        {
            ActivitySource source = new("Weir.Explore.Tests.Spans");
            await Task.Yield();
            GC.KeepAlive(source);
        });

        // That of the last schedule goes with the next one, of whatever search: another test may have begun one.
        Exhaust(static () => Task.CompletedTask);
        int left = 0;
        using ActivityListener listener = new() { ShouldListenTo = source => source.Name == "Weir.Explore.Tests.Spans" && ++left < 0 };

        ActivitySource.AddActivityListener(listener);

        Assert.Equal(0, left);
    }

    [Fact]
    public void WeakReference_WhoseTargetNobodyElseHas_KeepsItToTheEndOfTheSchedule() => Exhaust(static async () =>
    {
        WeakReference<object> made = await Task.Run(static () => new WeakReference<object>(new object()));
        WeakReference<object> set = new(made);
        await Task.Run(() => set.SetTarget(new object()));
        GC.Collect();
        Assert.True(made.TryGetTarget(out _) && set.TryGetTarget(out _));
    });

    [Fact]
    public void AsyncLocal_FlowsWithTheCall() => Exhaust(static async () =>
    {
        Assert.Equal(0, Local.Value);
        Local.Value = 1;
        Task<int> task = Task.Run(static async () =>
        {
            await Task.Yield();
            return Local.Value;
        });
        Local.Value = 2;
        Assert.Equal(1, await task);
        Assert.Equal(2, Local.Value);
    });

    [Fact]
    public void Time_MovesWhenNobodyCanRun() => Exhaust(static async () =>
    {
        Stopwatch unused = new();
        long start = Stopwatch.GetTimestamp();
        List<int> order = [];
        await Task.WhenAll(After(20), After(10), Task.Delay(TimeSpan.FromHours(1)));
        Assert.Equal([10, 20], order);
        Assert.True(Stopwatch.GetElapsedTime(start) >= TimeSpan.FromHours(1));

        async Task After(int milliseconds)
        {
            await Task.Delay(milliseconds);
            order.Add(milliseconds);
        }
    });

    [Fact]
    public void Timeouts_EndWaits() => Exhaust(static async () =>
    {
        using SemaphoreSlim semaphore = new(0);
        Assert.False(semaphore.Wait(10));
        Assert.False(await semaphore.WaitAsync(10));
        await Assert.ThrowsAsync<TimeoutException>(static () => new TaskCompletionSource().Task.WaitAsync(TimeSpan.FromSeconds(1)));
        using CancellationTokenSource source = new(TimeSpan.FromSeconds(1));
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => semaphore.WaitAsync(source.Token));
        lock (semaphore)
        {
            Assert.False(Monitor.Wait(semaphore, 10));
        }

        int calls = 0;
        TaskCompletionSource third = new();
        using Timer timer = new(
            _ =>
            {
                if (++calls == 3)
                {
                    third.SetResult();
                }
            },
            null, 5, 5);
        await third.Task;
    });

    [Fact]
    public void Semaphore_LetsOneIn() => Exhaust(static async () =>
    {
        using SemaphoreSlim semaphore = new(1, 1);
        int inside = 0;
        await Task.WhenAll(Task.Run(EnterAsync), Task.Run(EnterAsync));
        Assert.Equal(1, semaphore.CurrentCount);

        async Task EnterAsync()
        {
            await semaphore.WaitAsync();
            Assert.Equal(1, Interlocked.Increment(ref inside));
            await Task.Yield();
            Interlocked.Decrement(ref inside);
            semaphore.Release();
        }
    });

    [Fact]
    public void Channel_OfOnePlace_KeepsOrder() => Exhaust(static async () =>
    {
        Channel<int> channel = Channel.CreateBounded<int>(1);
        Task writing = Task.Run(async () =>
        {
            await channel.Writer.WriteAsync(1);
            await channel.Writer.WriteAsync(2);
            channel.Writer.Complete();
        });
        List<int> read = [];
        await foreach (int item in channel.Reader.ReadAllAsync())
        {
            read.Add(item);
        }

        await writing;
        Assert.Equal([1, 2], read);
    });

    [Fact]
    public void Registration_Disposed_IsNotRunningAfterwards() => Exhaust(static async () =>
    {
        using CancellationTokenSource source = new();
        int running = 0;
        CancellationTokenRegistration registration = source.Token.Register(() =>
        {
            Interlocked.Increment(ref running);
            Interlocked.Decrement(ref running);
        });
        Task cancelling = Task.Run(source.Cancel);
        registration.Dispose();
        Assert.Equal(0, Volatile.Read(ref running));
        await cancelling;
    });

    [Fact]
    public void LinkedSource_DisposedDuringACancellation_Waits() => Exhaust(static async () =>
    {
        using CancellationTokenSource source = new();
        CancellationTokenSource linked = CancellationTokenSource.CreateLinkedTokenSource(source.Token);
        int calls = 0;
        linked.Token.Register(() => Interlocked.Increment(ref calls));
        Task cancelling = Task.Run(source.Cancel);
        linked.Dispose();
        await cancelling;
        Assert.InRange(calls, 0, 1);
    });

    [Fact]
    public void Spinning_LetsTheOthersGoFirst() => Exhaust(static () =>
    {
        int ready = 0;
        Thread[] threads = [new(Spin), new(Spin), new(() => Volatile.Write(ref ready, 1))];
        Array.ForEach(threads, static t => t.Start());
        Array.ForEach(threads, static t => t.Join());
        return Task.CompletedTask;

        void Spin()
        {
            SpinWait spin = default;
            while (Volatile.Read(ref ready) == 0)
            {
                spin.SpinOnce();
            }
        }
    });

    /// <summary>What a delegate is made of is the model's method, as what is called.</summary>
    [Fact]
    public void Delegates_OfWhatWaits_WaitInTheSchedule() => Exhaust(static async () =>
    {
        TaskCompletionSource<int> first = new();
        AutoResetEvent second = new(false);
        Task waits = Task.WhenAll(Task.Run(first.Task.Wait), Task.Run(second.WaitOne), Task.Run(() => first.Task.Result));
        Func<bool> set = second.Set;
        Assert.False(waits.IsCompleted);
        first.SetResult(1);
        Assert.True(set());
        await waits;
        Func<int, CancellationToken, Task> delay = Task.Delay;
        await delay(60_000, CancellationToken.None);
    });

    [Fact]
    public void Interrupt_WakesAWaitAndNoOther() => Exhaust(static () =>
    {
        bool interrupted = false;
        object gate = new();
        Thread thread = new(() =>
        {
            try
            {
                Thread.Sleep(Timeout.Infinite);
            }
            catch (ThreadInterruptedException)
            {
                interrupted = true;
            }
        });
        thread.Start();
        thread.Interrupt();
        thread.Join();
        Assert.True(interrupted);
        return Task.CompletedTask;
    });

    [Fact]
    public void Lazy_IsMadeOnceAndOthersWait() => Exhaust(static async () =>
    {
        int made = 0;
        Lazy<Task<int>> lazy = new(() =>
        {
            Interlocked.Increment(ref made);
            return Task.FromResult(5);
        });
        int[] values = await Task.WhenAll(Task.Run(() => lazy.Value), Task.Run(() => lazy.Value));
        Assert.Equal([5, 5], values);
        Assert.Equal(1, made);
        Assert.True(lazy.IsValueCreated);
    });

    [Theory]
    [InlineData(LazyThreadSafetyMode.PublicationOnly, FailureKind.Exception, "made 2")]
    [InlineData(LazyThreadSafetyMode.None, FailureKind.Exception, "ValueFactory attempted to access the Value property")]
    public void Lazy_ThatLocksNothing_HasItsRaces(LazyThreadSafetyMode mode, FailureKind kind, string says)
    {
        ExploreFailure failure = Explore.Search(async () =>
        {
            int made = 0;
            Lazy<int> lazy = new(() => Interlocked.Increment(ref made), mode);
            await Task.WhenAll(Task.Run(() => lazy.Value), Task.Run(() => lazy.Value));
            Assert.True(made == 1, $"made {made}");
        }).Failure!;
        Assert.Equal(kind, failure.Kind);
        Assert.Contains(says, failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Pool_RunsEachKindOfWorkItem() => Exhaust(static async () =>
    {
        CountdownTask left = new(4);
        ThreadPool.QueueUserWorkItem(_ => left.Signal());
        ThreadPool.UnsafeQueueUserWorkItem(static l => l.Signal(), left, preferLocal: true);
        ThreadPool.UnsafeQueueUserWorkItem(left, preferLocal: false);
        await Task.Factory.StartNew(left.Signal).ContinueWith(static _ => { });
        await left.Task;
    }, maxPreemptions: 0);

    [Fact]
    public void PoolingBuildersAndSources_GoOn() => Exhaust(static async () =>
    {
        int sum = 0;
        await foreach (int item in ItemsAsync())
        {
            sum += item;
        }

        Assert.Equal(3, sum);
        Assert.Equal(5, await PooledAsync());

        static async IAsyncEnumerable<int> ItemsAsync()
        {
            await Task.Yield();
            yield return 1;
            await Task.Delay(1);
            yield return 2;
        }

        [System.Runtime.CompilerServices.AsyncMethodBuilder(typeof(System.Runtime.CompilerServices.PoolingAsyncValueTaskMethodBuilder<>))]
        static async ValueTask<int> PooledAsync()
        {
            await Task.Yield();
            return 5;
        }
    });

    [Fact]
    public void Timer_AskedFor_FiresAtAnyTime()
    {
        static Task Body()
        {
            using CancellationTokenSource source = new(TimeSpan.FromHours(1));
            Assert.False(source.IsCancellationRequested);
            return Task.CompletedTask;
        }

        Assert.Null(Explore.Search(Body).Failure);
        Assert.Equal(1, Explore.Search(Body, new ExploreOptions { TimersFireAnyTime = true }).Failure!.Preemptions);
    }

    [Fact]
    public void PlainField_AskedFor_IsAPoint()
    {
        static async Task Body()
        {
            Counter counter = new();
            await Task.WhenAll(Task.Run(counter.Add), Task.Run(counter.Add));
            Assert.Equal(2, counter.Value);
        }

        Assert.Null(Explore.Search(Body).Failure);
        Assert.Equal(1, Explore.Search(Body, new ExploreOptions { PointsAtFieldsOf = [typeof(Counter)] }).Failure!.Preemptions);
    }

    [Theory]
    [InlineData(3, "a", DayOfWeek.Friday)]
    public void Body_CapturesValues(int number, string text, DayOfWeek day) => Explore.Run(async () =>
    {
        await Task.Yield();
        Assert.Equal((3, "a", DayOfWeek.Friday), (number, text, day));
    });

    [Fact]
    public void Body_ThatCapturesAnObject_IsRefused()
    {
        Counter counter = new();
        NotSupportedException error = Assert.Throws<NotSupportedException>(() => Explore.Run(() =>
        {
            counter.Add();
            return Task.CompletedTask;
        }));
        Assert.Contains("captures 'counter'", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Options_OutOfRange_AreRefused() => Assert.Contains(
        "MaxSchedules has to be at least 1",
        Assert.Throws<ArgumentOutOfRangeException>(static () => Explore.Run(static () => Task.CompletedTask, new ExploreOptions { MaxSchedules = 0 })).Message,
        StringComparison.Ordinal);

    [Fact]
    public void Posts_ThatGoToThePool_AreOfTheSchedule() => Exhaust(static async () =>
    {
        Counting counting = new();
        SynchronizationContext[] contexts = [new(), new Plain(), counting];
        int sum = 0;
        Task<int>[] posted = Array.ConvertAll(contexts, c =>
        {
            TaskCompletionSource<int> source = new();
            c.Post(state => source.SetResult(sum += (int)state!), 1);
            return source.Task;
        });
        int[] seen = await Task.WhenAll(posted);
        Assert.Equal([1, 2, 3], seen.Order());
        Assert.Equal(1, counting.Posts);
        await Task.Run(async () =>
        {
            SynchronizationContext.SetSynchronizationContext(counting);
            await Task.Yield();
        });
        Assert.Equal(2, counting.Posts);
    });

    private sealed class Plain : SynchronizationContext;

    private sealed class Counting : SynchronizationContext
    {
        public int Posts { get; private set; }

        public override void Post(SendOrPostCallback d, object? state)
        {
            Posts++;
            base.Post(d, state);
        }
    }

    private static void Exhaust(Func<Task> body, int maxPreemptions = 1)
    {
        ExploreResult result = Explore.Run(body, new ExploreOptions { MaxPreemptions = maxPreemptions, MaxSchedules = 20_000 });
        Assert.True(result.IsExhausted, result.ToString());
    }

    private sealed class Counter
    {
        public int Value { get; private set; }

        public void Add() => Value++;
    }

    private sealed class CountdownTask(int count) : IThreadPoolWorkItem
    {
        private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public Task Task => _ended.Task;

        public void Signal()
        {
            if (Interlocked.Decrement(ref count) == 0)
            {
                _ended.SetResult();
            }
        }

        public void Execute() => Signal();
    }
}
