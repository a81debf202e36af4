using Weir.Resilience;
using Weir.Runtimes;

namespace Weir.Explore.Tests.Scenarios;

/// <summary>Runs over a queue of work that end early: what they have not called is left for the next run.</summary>
public class QueueScenarios(ITestOutputHelper output)
{
    [Theory]
    [InlineData("nothing")]
    [InlineData("shared limit")]
    [InlineData("limit by key")]
    [InlineData("rate by key")]
    [InlineData("circuit")]
    [InlineData("hook")]
    public void Cancel_AtAnyTime_LosesNoItemOfTheQueue(string policy) => output.Explored(async () =>
    {
        ParallelRunOptions options = new() { MaxDegreeOfParallelism = 2, ErrorMode = ErrorMode.BestEffort, OpenCircuitMode = OpenCircuitMode.WaitForHalfOpen };
        options = policy switch
        {
            "shared limit" => options with { ConcurrencyLimit = new SharedConcurrencyLimit(1) },
            "limit by key" => options with { ConcurrencyLimit = ConcurrencyLimits.ByKey<int, int>(static item => 0 * item, 1) },
            "rate by key" => options with
            {
                RateLimit = RateLimits.ByKey<int, int>(static item => 0 * item, new RateLimitOptions { TokensPerSecond = 1, BurstCapacity = 1 }),
            },
            "circuit" => options with
            {
                CircuitBreaker = new CircuitBreaker(
                    new CircuitBreakerOptions { FailureThreshold = 1, SuccessThreshold = 1, OpenTimeout = TimeSpan.FromSeconds(1) }),
            },
            "hook" => options with { OnStartItemAsync = static async _ => await Task.Yield() },
            _ => options,
        };
        WorkQueue<int> queue = new();
        queue.AddRange([1, 2, 3]);
        int called = 0;
        using CancellationTokenSource source = new();
        Task cancelling = Task.Run(source.Cancel);
        try
        {
            await RunAsync(source.Token);
        }
        catch (OperationCanceledException) when (source.IsCancellationRequested)
        {
        }

        await cancelling;
        Assert.Equal((0, 3), (queue.Running, queue.Count + called));
        await RunAsync(default);
        Assert.Equal((true, 3), (queue.IsCompleted, called));

        Task RunAsync(CancellationToken token) => queue.ForEachParallelAsync(
            async (item, _) =>
            {
                Interlocked.Increment(ref called);
                await Task.Yield();

                // Opens the circuit.
                if (item == 1)
                {
                    throw new InvalidOperationException();
                }
            },
            options, token);
    });

    [Theory]
    [InlineData("stop", 1, true)]
    [InlineData("stop", 2, false)]
    [InlineData("cancel", 1, false)]
    [InlineData("cancel", 2, true)]
    [InlineData("failure", 1, true)]
    [InlineData("failure", 2, false)]
    public void Stop_InTheLastItem_EndsTheQueueWhetherItsReaderWaitsOrNot(string how, int limit, bool isHeldOpen) => output.Explored(async () =>
    {
        WorkQueue<int> queue = new();
        queue.Add(1);
        using IDisposable? open = isHeldOpen ? queue.KeepOpen() : null;
        RunControl control = new();
        using CancellationTokenSource source = new();
        Task first = queue.ForEachParallelAsync(
            async (item, token) =>
            {
                await Task.Yield();
                switch (how)
                {
                    case "stop":
                        control.Stop();
                        break;
                    case "cancel":
                        source.Cancel();
                        break;
                    default:
                        throw new InvalidOperationException();
                }
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = limit, Control = control },
            source.Token);
        try
        {
            await first;
        }
        catch (Exception e) when (e is InvalidOperationException or OperationCanceledException)
        {
        }

        Assert.Equal((!isHeldOpen, 0, 0), (queue.IsCompleted, queue.Count, queue.Running));
        Assert.Equal(isHeldOpen, queue.TryAdd(2));
    });

    [Fact]
    public void Stop_OfARuntimeOverAGrowingQueue_LeavesTheRestToAnother() => output.Explored(static async () =>
    {
        WorkQueue<int> queue = new();
        queue.AddRange([1, 2]);
        int called = 0;
        RunControl control = new();
        Task stopping = Task.Run(control.Stop);
        await using ConcurrentRuntime first = new(concurrencyPerCall: 2);
        await first.ProcessManyAsync(queue.AsEnumerable(), CallAsync, new ProcessManyOptions { Control = control });
        await stopping;
        Assert.Equal(0, queue.Running);
        await using DirectRuntime second = new();
        await second.ProcessManyAsync(queue.AsEnumerable(), CallAsync);
        Assert.Equal((true, 4), (queue.IsCompleted, called));

        async ValueTask<int> CallAsync(int item, CancellationToken token)
        {
            Interlocked.Increment(ref called);
            if (item <= 2)
            {
                queue.Add(item + 2);
            }

            await Task.Yield();
            return item;
        }
    });

    [Fact]
    public void Rate_OfAKeyThatRunsShare_ServesTheOtherWhenOneIsCancelled() => output.Explored(static async () =>
    {
        RateLimits rates = RateLimits.ByKey<int, int>(static item => 0 * item, new RateLimitOptions { TokensPerSecond = 10, BurstCapacity = 1 });
        SharedConcurrencyLimit shared = new(1);
        ParallelRunOptions options = new() { MaxDegreeOfParallelism = 2, RateLimit = rates, ConcurrencyLimit = shared };
        using CancellationTokenSource source = new();
        Calls calls = new();
        Task other = Task.Run(() => new[] { 1, 2 }.ForEachParallelAsync(calls.CountedAsync, options, source.Token));
        Task cancelling = Task.Run(source.Cancel);
        Calls own = new();
        await new[] { 3, 4 }.ForEachParallelAsync(own.CountedAsync, options);
        await cancelling;
        try
        {
            await other;
        }
        catch (OperationCanceledException) when (source.IsCancellationRequested)
        {
        }

        Assert.Equal(2, own.Made);
        Assert.Equal((0, 0), (shared.InUse, shared.Waiting));

        // Ten a second, and one at once: a turn that was left behind would make the others late. The watch looks often in a second, which are many points.
        Assert.InRange(Environment.TickCount64, (100 * (own.Made + calls.Made - 1)) - 5, (100 * (own.Made + calls.Made)) + 50);
    });
}
