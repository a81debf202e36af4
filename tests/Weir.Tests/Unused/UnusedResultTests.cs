using Weir.Tests.Operators.Support;

namespace Weir.Tests.Unused;

/// <summary>Are the results that the caller of a run does not get disposed of once where the options say so, and left alone where they do not?</summary>
public class UnusedResultTests
{
    private const int Count = 10;

    private static readonly string[] All = ResultForm.All;

    public static MatrixTheoryData<string, bool> Failing { get; } = new([.. ResultForm.Lists, "stream", "ordered stream", "batch stream"], [false, true]);

    public static MatrixTheoryData<string, bool> Every { get; } = new(All, [false, true]);

    public static MatrixTheoryData<string, bool> Left { get; } = new([.. ResultForm.Streams, .. ResultForm.RuntimeStreams], [false, true]);

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Failing))]
    public async Task FailedRun_ItsOtherResults_AreDisposedOfIfAskedFor(string form, bool disposes)
    {
        Run run = new(disposes);
        await Assert.ThrowsAsync<TestException>(() => run.StartAsync(form, lastFails: true).WithinAsync());
        await run.CheckAsync();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Every))]
    public async Task CancelledRun_ItsResults_AreDisposedOfIfAskedFor(string form, bool disposes)
    {
        using CancellationTokenSource caller = new();
        Run run = new(disposes) { Caller = caller };
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => run.StartAsync(form, lastFails: false).WithinAsync());
        await run.CheckAsync();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Left))]
    public async Task LeftStream_ResultsThatNobodyRead_AreDisposedOfIfAskedFor(string form, bool disposes)
    {
        Run run = new(disposes);
        await run.StartAsync(form, lastFails: false, leavesAfter: 1).WithinAsync();
        Assert.Single(run.Got);
        await run.CheckAsync();
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Every))]
    public async Task EndedRun_ResultsThatItsCallerGot_AreTheCallers(string form, bool disposes)
    {
        Run run = new(disposes);
        await run.StartAsync(form, lastFails: false).WithinAsync();
        Assert.Equal(Count, run.Got.Count);
        await run.CheckAsync();
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task CollectAndContinue_TheResultsInTheException_AreTheCallers()
    {
        Run run = new(disposes: true) { ErrorMode = ErrorMode.CollectAndContinue };
        await Assert.ThrowsAsync<ItemsFailedException<Resource>>(() => run.StartAsync("list", lastFails: true).WithinAsync());
        Assert.Equal(Count - 1, run.Got.Count);
        await run.CheckAsync();
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task ReturnOutcomesOnCancellation_TheResultsInTheOutcomes_AreTheCallers()
    {
        using CancellationTokenSource caller = new();
        Run run = new(disposes: true) { Caller = caller, ReturnOutcomesOnCancellation = true };
        await run.StartAsync("outcomes", lastFails: false).WithinAsync();
        Assert.NotEmpty(run.Got);
        await run.CheckAsync();
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task SharedResult_OfAFailedList_IsDisposedOfOnce()
    {
        Resource shared = new(0);
        await Assert.ThrowsAsync<TestException>(() => Enumerable.Range(0, Count).ToArray().SelectParallelAsync(
            (x, _) => x == Count - 1 ? throw new TestException("last") : new ValueTask<Resource>(shared),
            new ParallelRunOptions { MaxDegreeOfParallelism = 1, Output = new() { DisposeUnusedResults = true } }).WithinAsync());
        await shared.DisposedOnceAsync();
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task DisposableStructures_OfAFailedList_AreDisposedOfOnceAndNoDefaultOnes()
    {
        Resource[] inner = [.. Enumerable.Range(0, Count).Select(static number => new Resource(number))];
        Holder.DefaultsDisposed = 0;
        await Assert.ThrowsAsync<TestException>(() => Enumerable.Range(0, Count).ToArray().SelectParallelAsync(
            (x, _) => x == 5 ? throw new TestException("fifth") : new ValueTask<Holder>(new Holder(inner[x])),
            new ParallelRunOptions { MaxDegreeOfParallelism = 1, Output = new() { DisposeUnusedResults = true } }).WithinAsync());
        Assert.All(inner.Take(5), static resource => Assert.Equal(1, resource.Disposals));
        Assert.All(inner.Skip(5), static resource => Assert.Equal(0, resource.Disposals));
        Assert.Equal(0, Holder.DefaultsDisposed);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task DisposalThatThrows_OfAFailedList_ChangesNothing()
    {
        List<Resource> made = [];
        TestException error = await Assert.ThrowsAsync<TestException>(() => Enumerable.Range(0, Count).ToArray().SelectParallelAsync(
            (x, _) =>
            {
                Resource resource = x == 0 ? new Throwing() : new Resource(x);
                made.Add(resource);
                return x == Count - 1 ? throw new TestException("last") : new ValueTask<Resource>(resource);
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = 1, Output = new() { DisposeUnusedResults = true } }).WithinAsync());
        Assert.Equal("last", error.Message);
        Assert.All(made.Take(Count - 1), static resource => Assert.Equal(1, resource.Disposals));
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task DisposalThatHangs_OfAFailedList_HoldsItsEndNoLongerThanAnItem(bool blocks)
    {
        ManualTimeProvider clock = new();
        using Gate gate = new();
        Hanging first = new(gate, blocks);
        Resource second = new(2);
        Task<List<Resource>> running = new[] { 0, 1, 2 }.SelectParallelAsync(
            (x, _) => x == 2 ? throw new TestException("last") : new ValueTask<Resource>(x == 0 ? first : second),
            new ParallelRunOptions
            {
                MaxDegreeOfParallelism = 1,
                PerItemTimeout = TimeSpan.FromSeconds(1),
                Output = new() { DisposeUnusedResults = true },
                TimeProvider = clock,
            });
        await Guard.UntilAsync(() => first.Disposals == 1, "the disposal that hangs");
        await Guard.SettleAsync();
        Assert.False(running.IsCompleted);
        await clock.DriveAsync(running, TimeSpan.FromSeconds(1));
        await Assert.ThrowsAsync<TestException>(() => running);
        gate.Open();
        await second.DisposedOnceAsync();
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task ListThatFails_ThePlainResults_CostNothingMore()
    {
        await Assert.ThrowsAsync<TestException>(() => Enumerable.Range(0, Count).ToArray().SelectParallelAsync(
            (x, _) => x == Count - 1 ? throw new TestException("last") : new ValueTask<string>("text"),
            new ParallelRunOptions { Output = new() { DisposeUnusedResults = true } }).WithinAsync());
    }

    /// <summary>One run of which the test knows all results.</summary>
    private sealed class Run(bool disposes)
    {
        private readonly List<Resource> _made = [];

        public List<Resource> Got { get; } = [];

        public CancellationTokenSource? Caller { get; init; }

        public ErrorMode ErrorMode { get; init; }

        public bool ReturnOutcomesOnCancellation { get; init; }

        public Task StartAsync(string form, bool lastFails, int leavesAfter = int.MaxValue) =>
            ResultForm.RunAsync(
                form,
                Enumerable.Range(0, Count).ToArray(),
                async (x, _) =>
                {
                    if (x % 2 == 0)
                    {
                        await Task.Yield();
                    }

                    if (x == Count - 1)
                    {
                        if (lastFails)
                        {
                            throw new TestException("last");
                        }

                        Caller?.Cancel();
                    }

                    Resource resource = new(x);
                    lock (_made)
                    {
                        _made.Add(resource);
                    }

                    return resource;
                },
                new ParallelRunOptions
                {
                    MaxDegreeOfParallelism = 3,
                    ErrorMode = ErrorMode,
                    Output = new() { ReturnOutcomesOnCancellation = ReturnOutcomesOnCancellation, DisposeUnusedResults = disposes },
                },
                Got,
                leavesAfter,
                Caller?.Token ?? default);

        /// <summary>The run has ended, and with it the disposals.</summary>
        public async Task CheckAsync()
        {
            Assert.All(Got, static result => Assert.Equal(0, result.Disposals));
            Resource[] unused = [.. _made.Except(Got)];
            Assert.All(unused, result => Assert.Equal(disposes ? 1 : 0, result.Disposals));
            await Guard.SettleAsync();
            Assert.All(unused, result => Assert.Equal(disposes ? 1 : 0, result.Disposals));
        }
    }

    private readonly struct Holder(Resource inner) : IDisposable
    {
        public static int DefaultsDisposed { get; set; }

        public void Dispose()
        {
            if (inner is null)
            {
                DefaultsDisposed++;
            }

            inner?.DisposeAsync().AsTask().Wait();
        }
    }

    private sealed class Throwing() : Resource(0)
    {
        public override async ValueTask DisposeAsync()
        {
            await base.DisposeAsync();
            throw new TestException("disposal");
        }
    }

    private sealed class Hanging(Gate gate, bool blocks) : Resource(0)
    {
        public override async ValueTask DisposeAsync()
        {
            await base.DisposeAsync();
            if (blocks)
            {
                gate.Wait(CancellationToken.None);
            }
            else
            {
                await new TaskCompletionSource().Task;
            }
        }
    }
}
