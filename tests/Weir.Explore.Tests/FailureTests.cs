using System.Threading.Tasks.Sources;

namespace Weir.Explore.Tests;

/// <summary>Each kind of failure, and what it says.</summary>
public class FailureTests
{
    private static readonly int[] Once = [0];

    [Fact]
    public void TwoLocks_InTwoOrders_AreADeadlockThatNamesWhoWaits()
    {
        ExploreFailure failure = Explore.Search(async () =>
        {
            object first = new();
            object second = new();
            await Task.WhenAll(Task.Run(() => Both(first, second)), Task.Run(() => Both(second, first)));
        }).Failure!;
        Assert.Equal(FailureKind.Deadlock, failure.Kind);
        Assert.Equal(1, failure.Preemptions);
        Assert.Contains("waits for Object, which", failure.Message, StringComparison.Ordinal);
        Assert.Contains("FailureTests.cs:", failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void LostWakeUp_OfMonitors_IsADeadlock() => Fails(FailureKind.Deadlock, "waits for a pulse of Object", async () =>
    {
        object gate = new();
        Task waiting = Task.Run(() =>
        {
            lock (gate)
            {
                Monitor.Wait(gate);
            }
        });
        lock (gate)
        {
            Monitor.Pulse(gate);
        }

        await waiting;
    });

    [Fact]
    public void Await_OfATaskThatNobodyEnds_NamesItsLine() => Fails(
        FailureKind.Deadlock, "an await has not gone on: FailureTests.cs:", static async () => await new TaskCompletionSource().Task);

    [Fact]
    public void Loop_OfAtomicOperationsAlone_LetsOthersGoFirst() => Assert.True(Explore.Run(static async () =>
    {
        int taken = 0;
        await Task.WhenAll(Task.Run(TakeAndLeave), Task.Run(TakeAndLeave));

        void TakeAndLeave()
        {
            while (Interlocked.CompareExchange(ref taken, 1, 0) != 0)
            {
            }

            Interlocked.Exchange(ref taken, 0);
        }
    }, new ExploreOptions { MaxPreemptions = 1 }).IsExhausted);

    [Fact]
    public void Schedule_ThatEndsAsAnAwaitIsRegistered_DoesNotEndTheProcess()
    {
        for (int i = 0; i < 20; i++)
        {
            ExploreFailure failure = Explore.Search(static () => new SpinsWhenAwaited().WaitAsync(), new ExploreOptions { MaxSteps = 50 }).Failure!;
            Assert.Equal(FailureKind.Livelock, failure.Kind);
        }
    }

    [Fact]
    public void Loop_ThatSpinsForNobody_IsALivelock() => Fails(
        FailureKind.Livelock,
        "MaxSteps",
        static () =>
        {
            SpinWait spin = default;
            while (Volatile.Read(ref Once[0]) == 0)
            {
                spin.SpinOnce();
            }

            return Task.CompletedTask;
        },
        new ExploreOptions { MaxSteps = 500 });

    [Fact]
    public void Livelock_OfTimersAlone_SaysWhatIsAwaited() => Fails(
        FailureKind.Livelock,
        [@"Nobody else can run: the last \d+ of 500 steps \(MaxSteps\) are all of timers and ends of waits", @"1 main waits for the body's task",
            @"an await has not gone on: FailureTests\.cs:\d+ "],
        static async () =>
        {
            using PeriodicTimer timer = new(TimeSpan.FromSeconds(1));
            using Timer other = new(static _ => Interlocked.Increment(ref Once[0]), null, 1, 1);
            Task ticks = TickAsync(timer);
            await new TaskCompletionSource().Task;
            await ticks;
        });

    [Fact]
    public void Livelock_OfAThreadThatSleeps_SaysWhatIsAwaited() => Fails(
        FailureKind.Livelock, ["Nobody else can run", @"waits for an event, at FailureTests\.cs:"], static () =>
        {
            ManualResetEventSlim never = new();
            new Thread(() => never.Wait()).Start();
            while (!never.IsSet)
            {
                Thread.Sleep(10);
            }

            return Task.CompletedTask;
        });

    /// <summary>Threads that spin do not wait for time.</summary>
    [Fact]
    public void Livelock_OfAThreadThatSpinsBesideATimer_IsNoneOfTimersAlone() => Fails(
        FailureKind.Livelock, ["The schedule has no end"], static () =>
        {
            using Timer other = new(static _ => { }, null, 1, 1);
            SpinWait spin = default;
            while (Volatile.Read(ref Once[0]) == 0)
            {
                spin.SpinOnce();
            }

            return Task.CompletedTask;
        });

    [Fact]
    public void Thread_ThatThrows_IsUnhandled() => Fails(FailureKind.UnhandledException, "lost", static () =>
    {
        Thread thread = new(static () => throw new InvalidOperationException("lost"));
        thread.Start();
        thread.Join();
        return Task.CompletedTask;
    });

    [Fact]
    public void AsyncVoid_ThatThrows_IsUnhandled() => Fails(FailureKind.UnhandledException, "void", static async () =>
    {
        Throw();
        await Task.Yield();

        static async void Throw()
        {
            await Task.Yield();
            throw new InvalidOperationException("void");
        }
    });

    [Fact]
    public void Task_ThatFailsUnseen_IsAFailureUnlessSwitchedOff()
    {
        static Task Body()
        {
            _ = Task.Run(static () => throw new InvalidOperationException("unseen"));
            return Task.CompletedTask;
        }

        Assert.Equal(FailureKind.UnobservedException, Explore.Search(Body).Failure!.Kind);
        Assert.True(Explore.Run(Body, new ExploreOptions { UnobservedExceptionsFail = false }).IsExhausted);
    }

    [Fact]
    public void Thread_ThatIsLeftWaiting_IsAFailure() => Fails(FailureKind.LeftRunning, "an event", static () =>
    {
        ManualResetEventSlim never = new();
        new Thread(never.Wait).Start();
        return Task.CompletedTask;
    });

    [Fact]
    public void QueryOnOtherThreads_IsNamed() => Fails(FailureKind.Exception, "System.Linq.ParallelEnumerable.AsParallel", static () =>
    {
        Assert.Equal(45, Enumerable.Range(0, 10).AsParallel().Sum());
        return Task.CompletedTask;
    });

    [Fact]
    public void Lazy_WhoseValueNeedsALock_IsADeadlockThatNamesIt() => Fails(FailureKind.Deadlock, "waits for Lazy`1, which", static async () =>
    {
        object gate = new();
        Lazy<int> lazy = new(() =>
        {
            lock (gate)
            {
                return 1;
            }
        });
        await Task.WhenAll(Task.Run(() => lazy.Value), Task.Run(Read));

        int Read()
        {
            lock (gate)
            {
                return lazy.Value;
            }
        }
    });

    [Fact]
    public void Await_OfANetwork_IsNamedAsWhatIsNotControlled()
    {
        // It listens and never answers, so the client's own limit ends the call, on a thread of the platform.
        using System.Net.Sockets.TcpListener silent = new(System.Net.IPAddress.Loopback, 0);
        silent.Start();
        string url = $"http://{silent.LocalEndpoint}/";
        ExploreFailure failure = Repeated("that the explorer does not control", async () =>
        {
            using HttpClient client = new() { Timeout = TimeSpan.FromMilliseconds(500) };
            await client.GetAsync(new Uri(url));
        });
        Assert.Equal(FailureKind.Deadlock, failure.Kind);
        Assert.Matches(@"that at FailureTests\.cs:\d+ .* would go on now", failure.Message);
    }

    [Fact]
    public void Code_ThatNeverComesToAPoint_IsAHangThatNamesItsLastPoint() => Hangs(
        "Interlocked.Increment",
        static () =>
        {
            Interlocked.Increment(ref Once[0]);
            using System.IO.Pipes.AnonymousPipeServerStream pipe = new(System.IO.Pipes.PipeDirection.In);
            _ = pipe.ReadByte();
            return Task.CompletedTask;
        });

    [Fact]
    public void Thread_ThatDoesNotEndWithItsSchedule_IsAHangAfterThePatience() => Hangs(
        "did not end with its schedule in 0.5 seconds",
        static () =>
        {
            ManualResetEventSlim never = new();
            new Thread(() =>
            {
                try
                {
                    never.Wait();
                }
                finally
                {
                    using System.IO.Pipes.AnonymousPipeServerStream pipe = new(System.IO.Pipes.PipeDirection.In);
                    _ = pipe.ReadByte();
                }
            })
            { IsBackground = true }.Start();
            return Task.CompletedTask;
        });

    private static void Hangs(string says, Func<Task> body) => Repeated(
        says, body, new ExploreOptions { Patience = TimeSpan.FromSeconds(0.5) }, static failure => Assert.Equal(FailureKind.Hang, failure.Kind));

    /// <summary>Searches until a failure says so. A thread that is held up for as long as a limit fails in another way. It is not held up each time.</summary>
    private static ExploreFailure Repeated(string says, Func<Task> body, ExploreOptions? options = null, Action<ExploreFailure>? each = null)
    {
        ExploreFailure failure;
        int searches = 0;
        do
        {
            failure = Explore.Search(body, options).Failure!;
            each?.Invoke(failure);
        }
        while (!failure.Message.Contains(says, StringComparison.Ordinal) && ++searches < 20);

        Assert.Contains(says, failure.Message, StringComparison.Ordinal);
        return failure;
    }

    private static void Fails(FailureKind kind, string says, Func<Task> body, ExploreOptions? options = null)
    {
        ExploreFailure failure = Explore.Search(body, options).Failure!;
        Assert.Equal(kind, failure.Kind);
        Assert.Contains(says, failure.Message, StringComparison.Ordinal);
    }

    private static void Fails(FailureKind kind, string[] patterns, Func<Task> body)
    {
        ExploreFailure failure = Explore.Search(body, new ExploreOptions { MaxSteps = 500 }).Failure!;
        Assert.Equal(kind, failure.Kind);
        Assert.All(patterns, p => Assert.Matches(p, failure.Message));
    }

    private static async Task TickAsync(PeriodicTimer timer)
    {
        while (await timer.WaitForNextTickAsync())
        {
        }
    }

    private static void Both(object first, object second)
    {
        lock (first)
        {
            lock (second)
            {
            }
        }
    }

    private sealed class SpinsWhenAwaited : IValueTaskSource
    {
        private int _never;

        public async Task WaitAsync() => await new ValueTask(this, 0);

        public void GetResult(short token)
        {
        }

        public ValueTaskSourceStatus GetStatus(short token) => ValueTaskSourceStatus.Pending;

        public void OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags)
        {
            while (Interlocked.CompareExchange(ref _never, 0, 1) != 1)
            {
            }
        }
    }
}
