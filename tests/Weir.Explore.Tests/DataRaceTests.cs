using System.Collections.Concurrent;
using System.Runtime.CompilerServices;
using System.Threading.Channels;

namespace Weir.Explore.Tests;

/// <summary>Plain accesses that nothing orders are found; those of correct programs are not taken for such.</summary>
public class DataRaceTests
{
    private static readonly ExploreOptions Races = new() { DataRaces = true };
    private static readonly AsyncLocal<int[]> Local = new();
    private static int _static;

    [Theory]
    [InlineData("Lazily._gone", @"MeantRaces has 'Lazily\._gone', which is no field or property of the code under test\. .*The type has .*Lazily\.")]
    [InlineData("Nobody._value", @"MeantRaces has 'Nobody\._value', .*there is no type Nobody with fields")]
    [InlineData("_value", "MeantRaces has '_value', .*It has to be Type.Member")]
    public void MeantRaces_WithANameThatDoesNotExist_AreRefused(string name, string says) => Assert.Matches(
        says,
        Assert.Throws<ArgumentException>(
            () => Explore.Run(static () => Task.CompletedTask, new ExploreOptions { DataRaces = true, MeantRaces = [name] })).Message);

    [Fact]
    public void Counter_WithoutALock_IsARaceWhoseScheduleFailsAHundredTimes()
    {
        static async Task Body()
        {
            Box box = new();
            await Task.WhenAll(Task.Run(() => box.Value++), Task.Run(() => box.Value++));
        }

        ExploreFailure failure = Found(Body);
        Assert.Equal(0, failure.Preemptions);
        for (int i = 0; i < 100; i++)
        {
            ExploreFailure again = Explore.Search(Body, Races, failure.Schedule).Failure!;
            Assert.Equal(failure.Steps, again.Steps);
            Assert.Equal(failure.Message, again.Message);
        }
    }

    [Fact]
    public void DoubleCheck_OfAPlainField_IsARace() => Found(static async () =>
    {
        Lazily lazily = new();
        await Task.WhenAll(Task.Run(lazily.Get), Task.Run(lazily.Get));
    });

    [Fact]
    public void Object_PublishedByAPlainField_IsARace() => Found(static async () =>
    {
        Box box = new();
        Task reading = Task.Run(() => box.Next?.Value);
        box.Next = new Box { Value = 1 };
        await reading;
    });

    [Fact]
    public void AsyncMethods_ThatNothingOrders_AreARace() => Found(static async () =>
    {
        Box box = new();
        TaskCompletionSource gate = new();
        gate.SetResult();
        await Task.WhenAll(AddAsync(), AddAsync());

        async Task AddAsync()
        {
            await Task.Yield();
            await gate.Task;
            box.Value++;
        }
    });

    [Fact]
    public void Elements_Statics_AndStructures_AreLookedAt()
    {
        Found(static () => BothAsync(static box => box.Items[1] = 1));
        Found(static () => BothAsync(static box => box.Names[0] = "a"));
        Found(static () => BothAsync(static box => box.Pairs[1].Second = 1));
        Found(static () => BothAsync(static box => box.Pair.First++));
        Found(static () => BothAsync(static _ => _static++));
        Assert.Null(Explore.Search(static () => BothAsync(static box => box.Items[Interlocked.Increment(ref box.Value)] = 1), Races).Failure);
    }

    [Fact]
    public void Write_AfterTheLock_IsARace() => Found(static () => BothAsync(static box =>
    {
        lock (box)
        {
            _ = box.Pair;
        }

        box.Value++;
    }));

    /// <summary>Another order is there by luck in some schedules: it is found in those where it is not.</summary>
    [Fact]
    public void Lock_OfOneSideAlone_IsARaceInSomeSchedules() => Found(static async () =>
    {
        Box box = new();
        Task other = Task.Run(() =>
        {
            lock (box)
            {
                box.Value++;
            }
        });
        box.Value++;
        lock (box)
        {
        }

        await other;
    });

    /// <summary>A type lives longer than a schedule: what came before one schedule's end of a lock on it comes before nothing in the next one.</summary>
    [Fact]
    public void Lock_OnAType_OrdersNoMoreThanThatOnAnObject()
    {
        Assert.Equal(Found(static () => WriteThenLockAsync(new object())).FoundAt, Found(static () => WriteThenLockAsync(typeof(Box))).FoundAt);

        static async Task WriteThenLockAsync(object locked)
        {
            Box box = new();
            Task other = Task.Run(() =>
            {
                lock (locked)
                {
                    box.Value++;
                }
            });
            Thread.MemoryBarrier();
            box.Value++;
            lock (locked)
            {
            }

            await other;
        }
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Structure_ReadThroughAParameter_IsARace(bool isOfInstance) => Found(async () =>
    {
        Box box = new();
        Task reading = Task.Run(() => isOfInstance ? box.FirstOf(ref box.Pair) : FirstOf(ref box.Pair));
        box.Pair.First = 1;
        await reading;
    });

    [Fact]
    public void Locks_Order() => None(static () => BothAsync(static box =>
    {
        lock (box)
        {
            box.Value++;
        }

        lock (box.Lock)
        {
            box.Pair.First++;
            box.Items[0]++;
        }
    }));

    [Fact]
    public void VolatileAndAtomicAccesses_Order() => None(static async () =>
    {
        Box box = new();
        await Task.WhenAll(
            Task.Run(() =>
            {
                box.Value = 1;
                box.Ready = true;
                box.Items[1] = 1;
                Volatile.Write(ref box.Items[0], 1);
                box.Pair.First = 1;
                Interlocked.Increment(ref box.Pair.Second);
            }),
            Task.Run(() =>
            {
                Assert.Equal(1, box.Ready ? box.Value : 1);
                Assert.Equal(1, Volatile.Read(ref box.Items[0]) == 1 ? box.Items[1] : 1);
                Assert.Equal(1, Interlocked.CompareExchange(ref box.Pair.Second, 0, 0) == 1 ? box.Pair.First : 1);
            }));
    });

    [Fact]
    public void Tasks_Order() => None(static async () =>
    {
        Box box = new();
        await AddAsync();
        await Task.Run(AddAsync);
        box.Value += await Task.Run(async () => await PooledAsync());
        Task first = Task.Run(() => box.Items[0]++);
        await Task.WhenAll(first, Task.Run(() => box.Items[1]++));
        Assert.Equal((3, 1, 1), (box.Value, box.Items[0], box.Items[1]));
        Task any = await Task.WhenAny(Task.Run(() => box.Items[0]++), Task.Delay(TimeSpan.FromHours(1)));
        Task polled = Task.Run(() => box.Items[2]++);
        await any.ContinueWith(_ => box.Items[0]++);
        if (polled.IsCompleted)
        {
            box.Items[2]++;
        }

        await polled.WaitAsync(TimeSpan.FromHours(1));
        await Task.Factory.StartNew(() => box.Value++);
        Assert.Equal((4, 3), (box.Value, box.Items[0]));

        async Task AddAsync()
        {
            await Task.Yield();
            box.Value++;
        }

        [System.Runtime.CompilerServices.AsyncMethodBuilder(typeof(System.Runtime.CompilerServices.PoolingAsyncValueTaskMethodBuilder<>))]
        async ValueTask<int> PooledAsync()
        {
            await Task.Delay(1);
            box.Items[0]--;
            return ++box.Items[0] + 1;
        }
    });

    [Fact]
    public void Threads_Timers_AndSources_Order() => None(static async () =>
    {
        Box box = new();
        Thread thread = new(() => box.Value++);
        thread.Start();
        thread.Join();
        box.Value++;
        TaskCompletionSource<Box> fired = new();
        box.Items[0] = 1;
        using Timer timer = new(
            _ =>
            {
                box.Items[0]++;
                fired.TrySetResult(box);
            },
            null, 5, Timeout.Infinite);
        Assert.Equal(2, (await fired.Task).Items[0]);
        using CancellationTokenSource source = new();
        box.Items[1] = 1;
        using CancellationTokenRegistration registration = source.Token.Register(() => box.Items[1]++);
        Task cancelling = Task.Run(() =>
        {
            box.Items[2] = 1;
            source.Cancel();
        });
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => Task.Delay(Timeout.InfiniteTimeSpan, source.Token));
        Assert.Equal(1, box.Items[2]);
        await cancelling;
        Assert.Equal(2, box.Items[1]);
    });

    [Fact]
    public void Channels_Order() => None(static async () =>
    {
        Channel<Box> channel = Channel.CreateBounded<Box>(1);
        Task writing = Task.Run(async () =>
        {
            await channel.Writer.WriteAsync(new Box { Value = 1 });
            await channel.Writer.WriteAsync(new Box { Value = 2 });
            channel.Writer.Complete();
        });
        await foreach (Box item in channel.Reader.ReadAllAsync())
        {
            item.Value++;
        }

        await writing;
    });

    [Fact]
    public void Collections_AndSemaphores_Order() => None(static async () =>
    {
        ConcurrentDictionary<int, Box> boxes = new();
        ConcurrentQueue<Box> queue = new();
        using SemaphoreSlim semaphore = new(1);
        Box shared = new();
        await Task.WhenAll(Task.Run(UseAsync), Task.Run(UseAsync));
        Assert.Equal(2, shared.Value);

        async Task UseAsync()
        {
            Assert.Equal(1, boxes.GetOrAdd(1, static _ => new Box { Value = 1 }).Value);
            queue.Enqueue(new Box { Value = 1 });
            Assert.True(queue.TryDequeue(out Box? box) && box.Value == 1);
            await semaphore.WaitAsync();
            shared.Value++;
            semaphore.Release();
        }
    });

    [Fact]
    public void ValuesOfACall_AreItsOwn() => None(static async () =>
    {
        Local.Value = [1];
        await Task.WhenAll(Task.Run(OwnAsync), Task.Run(OwnAsync));
        Assert.Equal(1, Local.Value[0]);

        static async Task OwnAsync()
        {
            Local.Value = [Local.Value![0] + 1];
            await Task.Yield();
            Local.Value[0]++;
            Assert.Equal(3, Local.Value[0]);
        }
    });

    /// <summary>Two calls have the same object for their locals, one after the other. The pool orders them, and nothing else does.</summary>
    [Fact]
    public void LocalsOfAPooledMethod_AreThoseOfItsCall()
    {
        None(static () => Task.WhenAll(Task.Run(async () => await CountAsync(default)), Task.Run(async () => await CountAsync(default))));

        [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
        static async ValueTask<int> CountAsync(Two two)
        {
            await Task.Yield();
            two.First++;
            await Task.Yield();
            return two.First;
        }
    }

    [Fact]
    public void LocalOfAPooledMethod_ThatGoesOnInNoOrder_IsARace()
    {
        ExploreOptions options = Races with { MeantRaces = ["Unordered._next"] };
        Assert.Contains("through a reference", Found(static () => CountAsync(default, new Unordered()).AsTask(), options).Message, StringComparison.Ordinal);

        // What the pool orders is no order of the program: the one call that ends before the other begins says nothing to it.
        Found(static async () =>
        {
            Box box = new();
            await Task.WhenAll(Task.Run(async () => box.Value += await CountAsync(default, null)), Task.Run(async () => box.Value += await CountAsync(default, null)));
        });

        [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
        static async ValueTask<int> CountAsync(Two two, Unordered? next)
        {
            await Task.Yield();
            two.First++;
            if (next is not null)
            {
                await next;
            }

            return two.First++;
        }
    }

    private static int FirstOf(ref Two two) => two.First;

    private static ExploreFailure Found(Func<Task> body, ExploreOptions? options = null)
    {
        ExploreFailure failure = Explore.Search(body, options ?? Races).Failure!;
        Assert.Equal(FailureKind.DataRace, failure.Kind);
        string[] both = [.. failure.Steps.Where(static s => s.EndsWith(", in a race", StringComparison.Ordinal))];
        Assert.Equal(2, both.Length);
        Assert.All(both, static s => Assert.Contains("DataRaceTests.cs:", s, StringComparison.Ordinal));
        return failure;
    }

    private static void None(Func<Task> body)
    {
        ExploreResult result = Explore.Run(body, Races with { MaxPreemptions = 1, MaxSchedules = 1_000 });
        Assert.True(result.ExhaustedPreemptions >= 0, result.ToString());
    }

    private static Task BothAsync(Action<Box> action)
    {
        Box box = new();
        return Task.WhenAll(Task.Run(() => action(box)), Task.Run(() => action(box)));
    }

    private struct Two
    {
        public int First;
        public int Second;
    }

    private sealed class Box
    {
        public readonly Lock Lock = new();
        public readonly int[] Items = new int[4];
        public readonly string[] Names = new string[2];
        public readonly Two[] Pairs = new Two[2];
        public volatile bool Ready;
        public int Value;
        public Box? Next;
        public Two Pair;

        public int FirstOf(ref Two two) => two.First + Value;
    }

    /// <summary>Lets an async method go on on another thread, and orders nothing.</summary>
    private sealed class Unordered : INotifyCompletion
    {
        private Action? _next;

        public Unordered() => Task.Run(() =>
        {
            while (_next is null)
            {
                Thread.Yield();
            }

            _next();
        });

        public bool IsCompleted => false;

        public Unordered GetAwaiter() => this;

        public void GetResult()
        {
        }

        public void OnCompleted(Action continuation) => _next = continuation;
    }

    private sealed class Lazily
    {
        private readonly Lock _lock = new();
        private Box? _value;

        public Box Get()
        {
            if (_value is null)
            {
                lock (_lock)
                {
                    _value ??= new Box();
                }
            }

            return _value;
        }
    }
}
