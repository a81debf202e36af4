using System.Diagnostics;
using Weir.Core.Dispatch;
using Weir.Core.Sinks;
using Weir.Core.Sources;
using Weir.Core.Threads;

namespace Weir.Core.Tests.Dispatch;

/// <summary>How a run gets more workers while its calls block, and when one keeps its thread for the next item. Looks of the watch are made by hand.</summary>
public class RampTests
{
    private const double Idle = 0;
    private const double Unknown = double.NaN;

    private static readonly double All = Environment.ProcessorCount;

    private readonly List<int> _order = [];
    private TestRun<int, int> _run = null!;
    private int _inside;
    private int _most;

    public enum Shape
    {
        Array,
        Lazy,
        Guarded,
        Lanes,
    }

    [Theory(Timeout = 90_000)]
    [InlineData(Shape.Array, true, true, 10)]
    [InlineData(Shape.Lazy, true, true, 10)]
    [InlineData(Shape.Guarded, true, true, 10)]
    [InlineData(Shape.Lanes, true, true, 10)]
    [InlineData(Shape.Array, false, true, 1)]
    [InlineData(Shape.Lazy, false, true, 1)]
    [InlineData(Shape.Guarded, false, true, 1)]
    [InlineData(Shape.Lanes, false, true, 1)]
    [InlineData(Shape.Array, true, false, 1)]
    public async Task Calls_AfterTheirTime_KeepTheirThreadIfTheyBlockAndItIsNotShared(Shape shape, bool block, bool ownThreads, int onTheFirstThread)
    {
        ManualExecutor executor = new() { MostTicks = 0, Keeps = ownThreads };
        Begin(shape, 10, limit: 2, executor, x => LookTwice(x, block ? Idle : All));
        executor.RunOne();
        Assert.Equal(Enumerable.Range(0, onTheFirstThread), _order);
        await EndAsync(executor, 10);
    }

    [Fact(Timeout = 90_000)]
    public async Task CallsThatBlockedAndNowCompute_AfterTheirTime_GiveTheThreadToOthers()
    {
        ManualExecutor executor = new() { MostTicks = 0, Keeps = true };
        Begin(Shape.Array, 10, limit: 2, executor, x =>
        {
            LookTwice(x, Idle);
            if (x == 4)
            {
                Look(All);
            }
        });
        executor.RunOne();
        Assert.Equal([0, 1, 2, 3, 4], _order);
        await EndAsync(executor, 10);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(Shape.Array)]
    [InlineData(Shape.Lazy)]
    [InlineData(Shape.Guarded)]
    [InlineData(Shape.Lanes)]
    public async Task CallsThatBlock_OneLookLater_AreAsManyAsTheLimit(Shape shape)
    {
        ManualExecutor executor = new();
        Begin(shape, 100, limit: 16, executor, x =>
        {
            LookTwice(x, Idle);

            // Each worker that gets a thread blocks there, and only the next one that it brought can go on.
            Assert.InRange(executor.Queued, 0, 1);
            RunOneIfAny(executor);
        });
        await EndAsync(executor, 100);
        Assert.Equal(16, _most);
    }

    [Fact(Timeout = 90_000)]
    public async Task CallsThatBlock_WhileNoThreadIsFree_HaveOneWorkerInTheQueue()
    {
        ManualExecutor executor = new();
        Begin(Shape.Array, 100, limit: 16, executor, x =>
        {
            for (int look = 0; x == 0 && look < 10; look++)
            {
                Look(Idle);
                Assert.Equal(1, executor.Queued);
            }
        });
        await EndAsync(executor, 100);
    }

    [Fact(Timeout = 90_000)]
    public async Task CallsThatCompute_OnAllProcessors_AreAsManyAsTheProcessors()
    {
        ManualExecutor executor = new(Environment.ProcessorCount);
        Begin(Shape.Array, 100, limit: Environment.ProcessorCount + 16, executor, x =>
        {
            LookTwice(x, All);
            if (x < Environment.ProcessorCount)
            {
                RunOneIfAny(executor);
                Look(All);
                Look(All);
                Assert.Equal(0, executor.Queued);
            }
        });
        await EndAsync(executor, 100);
        Assert.Equal(Environment.ProcessorCount, _most);
    }

    [Fact(Timeout = 90_000)]
    public async Task CallsThatWait_WhileOtherWorkKeepsAllProcessorsBusy_AreAsManyAsTheLimit()
    {
        using Gate end = new();
        int inside = 0;
        TestRun<int, int> run = new(
            SourceOf.Enumerable(Enumerable.Range(0, 100).ToArray()),
            (x, _) =>
            {
                Interlocked.Increment(ref inside);
                end.Wait(CancellationToken.None);
                return new ValueTask<int>(x);
            },
            new PumpSettings { Limit = 16, ErrorMode = ErrorMode.FailFast, Executor = new ThreadsOfTheRun() });
        ManualExecutor.Start(run.Pump);

        // A look finds a call waiting only once its thread has begun to, so there are as many looks as it takes, and two of them at least for each worker.
        await Guard.UntilAsync(
            () =>
            {
                run.Pump.HelpIfStalled(All);
                run.Pump.HelpIfStalled(All);
                return Volatile.Read(ref inside) == 16;
            },
            "the calls");
        end.Open();
        Assert.Equal(100, (await run.Task.WithinAsync()).Count);
    }

    [Fact(Timeout = 90_000)]
    public async Task CallsThatUseHalfOfTheirThread_AreAsManyAsKeepTheProcessorsBusy()
    {
        ManualExecutor executor = new(threads: 1);
        Begin(Shape.Array, 1_000, limit: 900, executor, x =>
        {
            LookTwice(x, 0.5);
            RunOneIfAny(executor);
        });
        await EndAsync(executor, 1_000);
        Assert.Equal((int)(0.85 * Environment.ProcessorCount / 0.5), _most);
    }

    [Fact(Timeout = 90_000)]
    public async Task CallsThatBlock_WhereTheSystemDoesNotSayWhatIsBusy_BecomeTwiceAsManyAtEachLook()
    {
        ManualExecutor executor = new(threads: 1);
        List<int> counts = [];
        Begin(Shape.Array, 100, limit: 8, executor, x =>
        {
            if (executor.Queued > 0)
            {
                executor.RunOne();
                return;
            }

            counts.Add(_inside);
            if (counts.Count < 5)
            {
                Look(Unknown);
                Look(Unknown);
                RunOneIfAny(executor);
            }
        });
        await EndAsync(executor, 100);
        Assert.Equal([1, 2, 4, 8], counts.Take(4));
    }

    [Fact(Timeout = 90_000)]
    public async Task ShortCalls_ThatLeaveProcessorsIdle_GetNoFurtherWorker()
    {
        ManualExecutor executor = new(threads: 1);
        Begin(Shape.Array, 1_000, limit: 8, executor, x =>
        {
            // Long enough to be claimed one by one.
            long began = Stopwatch.GetTimestamp();
            while (Stopwatch.GetElapsedTime(began) < TimeSpan.FromMicroseconds(40))
            {
            }

            if (x % 300 == 0 && x > 0)
            {
                Look(Idle);
                Assert.Equal(0, executor.Queued);
            }
        });
        await EndAsync(executor, 1_000);
    }

    // Other tests have no runs of the types of these two, so they do not change what is expected of the next run.
    [Fact(Timeout = 90_000)]
    public async Task ItemsThatLast_EachWorkerThatBegins_BringsTheNext()
    {
        int inside = 0;
        int most = 0;
        ManualExecutor executor = new(threads: 4) { Grows = true };
        TestRun<sbyte, decimal> run = new TestRun<sbyte, decimal>(
            SourceOf.Enumerable(new sbyte[100]),
            (_, _) =>
            {
                most = Math.Max(most, ++inside);
                RunOneIfAny(executor);
                LastFor(microseconds: 50);
                inside--;
                return new ValueTask<decimal>(0);
            },
            new PumpSettings { Limit = 8, ErrorMode = ErrorMode.FailFast, Executor = executor }).Start();
        executor.RunAll();
        await run.Task.WithinAsync();
        Assert.Equal(4, most);
    }

    [Fact(Timeout = 90_000)]
    public async Task FirstItem_OfARunAfterOneWhoseItemsLasted_FindsTheNextWorkerCalled()
    {
        ManualExecutor executor = new(threads: 4) { Grows = true };
        int atFirst = -1;
        for (int i = 0; i < 2; i++)
        {
            atFirst = -1;
            TestRun<sbyte, char> run = new TestRun<sbyte, char>(
                SourceOf.Enumerable(new sbyte[4]),
                (_, _) =>
                {
                    atFirst = atFirst < 0 ? executor.Queued : atFirst;
                    LastFor(microseconds: 50);
                    return new ValueTask<char>('a');
                },
                new PumpSettings { Limit = 8, ErrorMode = ErrorMode.FailFast, Executor = executor }).Start();
            executor.RunAll();
            await run.Task.WithinAsync();
        }

        Assert.Equal(1, atFirst);
    }

    [Fact(Timeout = 90_000)]
    public async Task ThreadsOfThePoolAndSpareOnes_MayBeKept_AndOthersMayNot()
    {
        TaskCompletionSource<bool> spare = new();
        SpareThreads.Queue(new Work(() => spare.SetResult(PoolExecutor.Instance.MayKeepThread)));
        Assert.True(await spare.Task.WithinAsync());
        Assert.True(await Task.Run(static () => PoolExecutor.Instance.MayKeepThread).WithinAsync());
        TaskCompletionSource<bool> other = new();
        new Thread(() => other.SetResult(PoolExecutor.Instance.MayKeepThread)) { IsBackground = true }.Start();
        Assert.False(await other.Task.WithinAsync());
    }

    private async Task EndAsync(ManualExecutor executor, int count)
    {
        executor.RunAll();
        Assert.Equal(count, (await _run.Task).Count);
    }

    private void Begin(Shape shape, int count, int limit, ManualExecutor executor, Action<int> inCall)
    {
        IEnumerable<int> items = Enumerable.Range(0, count);
        Source<int> source = shape switch
        {
            Shape.Lazy => SourceOf.Enumerable(items.Where(static _ => true)),
            Shape.Lanes => new KeyedSource<int, int>(SourceOf.Enumerable(items.ToArray()), static x => x, null, 1, 100),
            _ => SourceOf.Enumerable(items.ToArray()),
        };
        _run = new TestRun<int, int>(
            source,
            (x, _) =>
            {
                _inside++;
                _most = Math.Max(_most, _inside);
                _order.Add(x);
                inCall(x);
                _inside--;
                return new ValueTask<int>(x);
            },
            new PumpSettings { Limit = limit, ErrorMode = ErrorMode.FailFast, Executor = executor, Guarded = shape == Shape.Guarded }).Start();
    }

    /// <summary>The first look finds the worker inside its call, and the second that it has been there for all of the time between.</summary>
    private void LookTwice(int item, double cores)
    {
        if (item == 0)
        {
            Look(cores);
            Look(cores);
        }
    }

    private static void LastFor(int microseconds)
    {
        long began = Stopwatch.GetTimestamp();
        while (Stopwatch.GetElapsedTime(began) < TimeSpan.FromMicroseconds(microseconds))
        {
        }
    }

    private static void RunOneIfAny(ManualExecutor executor)
    {
        if (executor.Queued > 0)
        {
            executor.RunOne();
        }
    }

    private void Look(double cores) => _run.Pump.HelpIfStalled(cores);

    /// <summary>A thread for each worker, as a pool with enough of them has.</summary>
    private sealed class ThreadsOfTheRun : Executor
    {
        public override int Threads => 1;

        public override bool CanRunOnCurrentThread => false;

        public override long Quantum => long.MaxValue / 2;

        public override void Queue(IThreadPoolWorkItem worker) => new Thread(worker.Execute) { IsBackground = true }.Start();
    }

    private sealed class Work(Action action) : IThreadPoolWorkItem
    {
        public void Execute() => action();
    }
}
