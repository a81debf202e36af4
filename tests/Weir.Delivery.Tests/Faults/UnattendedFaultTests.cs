#if DEBUG
using System.Collections.Concurrent;
using System.Diagnostics;
using Weir.Delivery.Tests.Hosts;
using Weir.Observability;
using Weir.Resilience;
using Weir.Runtimes;

namespace Weir.Delivery.Tests.Faults;

/// <summary>
/// Hosts over a queue in memory, which fail where no caller is above them: at the first such place that they pass, then at the second, and so on. A host ends,
/// with the fault or without, and each item is done or back in the queue.
/// </summary>
[Collection(nameof(Alone))]
public sealed class UnattendedFaultTests : IDisposable
{
    private const int Count = 6;

    private static readonly TimeSpan Short = TimeSpan.FromMilliseconds(3);
    private static readonly string[] RuntimeNames = ["direct", "concurrent", "parallel", "auto"];

    private readonly FaultPlaces _places = new(static (place, _) => place != "Pump.Start");

    public enum Ending
    {
        /// <summary>The queue is complete.</summary>
        Complete,

        /// <summary>The host is stopped while items run, which look at their token.</summary>
        Stopped,

        /// <summary>Items fail at first, and are delivered again after a delay.</summary>
        Redelivered,
    }

    public static TheoryData<string, Ending, int> Cases() =>
        [.. RuntimeNames.SelectMany(static r => Enum.GetValues<Ending>().SelectMany(e => new[] { (r, e, 1), (r, e, 2) }))];

    public void Dispose() => _places.Dispose();

    [Theory(Timeout = 300_000)]
    [MemberData(nameof(Cases))]
    public async Task Host_FailsAtAnyPlace_EndsAndLosesNothing(string name, Ending ending, int failures)
    {
        bool failed = true;
        for (int at = 1; failed && at <= 60; at++)
        {
            _places.FailAt(at, failures);
            failed = await RunAsync(name, ending, () => $"after a fault at place {at}, {_places.Failed}");
        }
    }

    /// <summary>A job that is stopped while its items hang: the stop, or the end of its grace period, fails.</summary>
    [Theory(Timeout = 300_000)]
    [InlineData(1)]
    [InlineData(2)]
    public async Task Job_FailsAtAnyPlaceOfItsStop_Ends(int failures)
    {
        bool failed = true;
        for (int at = 1; failed && at <= 60; at++)
        {
            _places.FailAt(at, failures);
            failed = await RunJobAsync(() => $"after a fault at place {at}, {_places.Failed}");
        }
    }

    [Fact(Timeout = 300_000)]
    public async Task Places_OfTheSources_AreThoseThatAreTested()
    {
        Assert.Empty(await _places.MissedAsync(FaultPlaces.InSources("Weir.Delivery"), async () =>
        {
            foreach (Ending ending in Enum.GetValues<Ending>())
            {
                await RunAsync("concurrent", ending, static () => "without a fault");
            }

            await RunJobAsync(static () => "without a fault");
        }));
    }

    /// <returns>Whether a place failed.</returns>
    private async Task<bool> RunJobAsync(Func<string> about)
    {
        using CancellationTokenSource stop = new();
        using Gate begun = new();
        await using ConcurrentRuntime runtime = new(2, new RuntimeOptions { GracePeriod = Short });
        Task<JobResult> job = runtime.ProcessJobAsync(
            Enumerable.Range(0, Count),
            async (_, token) =>
            {
                begun.Open();
                await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
            },
            new JobOptions { GracePeriod = Short },
            stop.Token);
        await Guard.UntilAsync(() => begun.IsOpen || job.IsCompleted, $"The first item {about()}");
        stop.Cancel();
        await _places.EndsAsync(job, $"The job {about()}");
        bool failed = _places.HasFailed;
        _places.Pass();
        return failed;
    }

    private static IExecutionRuntime Runtime(string name)
    {
        RuntimeOptions options = new() { GracePeriod = Short };
        return name switch
        {
            "direct" => new DirectRuntime(options),
            "concurrent" => new ConcurrentRuntime(3, options),
            "parallel" => new ParallelRuntime(2, options),
            _ => new AutoRuntime(3, options: options),
        };
    }

    /// <returns>Whether a place failed.</returns>
    private async Task<bool> RunAsync(string name, Ending ending, Func<string> about)
    {
        // Somebody listens to spans, so that items have one.
        using ActivityListener listener = new()
        {
            ShouldListenTo = static source => source.Name == WeirDiagnostics.ActivitySourceName,
            Sample = static (ref ActivityCreationOptions<ActivityContext> _) => ActivitySamplingResult.AllData,
        };
        ActivitySource.AddActivityListener(listener);
        MemoryWorkQueue<int> queue = new("faults", IntSerializer.Instance);
        IWorkSink<int> sink = await queue.OpenSinkAsync();
        await using (sink)
        {
            await sink.WriteAsync(
                [.. Enumerable.Range(0, Count).Select(static i => new WorkItem<int>(new WorkId("f", i), i, $"{i}"))], null, CancellationToken.None);
        }

        using CancellationTokenSource stop = new();
        ConcurrentDictionary<int, int> done = new();
        ConcurrentDictionary<int, int> begun = new();
        IExecutionRuntime runtime = Runtime(name);
        AskedSource source = new(await queue.OpenSourceAsync());
        WorkHost<int> host = new(
            source,
            runtime,
            async (item, token) =>
            {
                int calls = begun.AddOrUpdate(item.Value, 1, static (_, n) => n + 1);
                switch (ending)
                {
                    case Ending.Stopped:
                        await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, token);
                        break;
                    case Ending.Redelivered when calls == 1:
                        throw new TestException("again");
                    case Ending.Complete when item.Value == Count - 1:
                        // The others are done by then, and are acknowledged.
                        await source.Asked.WaitAsync(token);
                        break;
                }

                done.AddOrUpdate(item.Value, 1, static (_, n) => n + 1);
                if (done.Count == Count)
                {
                    queue.Complete();
                }
            },
            new WorkHostOptions<int>
            {
                GracePeriod = Short,
                DeadLetters = queue.DeadLetters,
                Serializer = IntSerializer.Instance,
                IsTransient = static _ => true,
                RedeliveryDelays = [Short],
            });
        Task run = host.RunAsync(stop.Token);
        if (ending == Ending.Stopped)
        {
            await Guard.UntilAsync(() => !begun.IsEmpty || run.IsCompleted, $"The first item {about()}");
            stop.Cancel();
        }

        await _places.EndsAsync(run, $"The host {about()}");
        bool failed = _places.HasFailed;
        _places.Pass();
        if (!failed)
        {
            await run;
        }

        // Those that are done, those that are in the queue, and those that had their last attempt.
        await source.DisposeAsync();
        int dead = 0;
        await foreach (DeadLetter _ in queue.DeadLetters.ListAsync())
        {
            dead++;
        }

        Assert.True(done.Count + queue.Count + dead >= Count, $"{done.Count} are done and {queue.Count} are back {about()}.");
        await runtime.DisposeAsync().AsTask().WithinAsync($"The runtime {about()}");
        await queue.DisposeAsync();
        return failed;
    }
}
#endif
