using System.Collections.Concurrent;
using System.Diagnostics.Metrics;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Weir.Hosting.Tests.Support;
using Weir.Observability;
using Weir.Resilience;

namespace Weir.Hosting.Tests.Workers;

/// <summary>The policies of a worker's runtime, and the name and tags of its calls.</summary>
public class PolicyTests
{
    private const int Limit = 120_000;

    [Theory(Timeout = Limit)]
    [MemberData(nameof(WorkerTests.Runtimes), MemberType = typeof(WorkerTests))]
    public async Task Policies_TransientFailure_IsRetriedWithinTheAttempt(string runtime)
    {
        MemoryWorkQueue<string> queue = await App.QueueAsync("a", "b");
        queue.Complete();
        ConcurrentDictionary<string, int> calls = new();
        HostApplicationBuilder builder = App.Create(
            queue,
            (item, _) => calls.AddOrUpdate(item.Value, 1, static (_, n) => n + 1) < 3 ? throw new TimeoutException() : default,
            ("Runtime", runtime), ("StopAtEnd", "true"), ("Policies:MaxRetries", "2"), ("Policies:BaseDelay", "00:00:00"));
        IHost host = builder.Build();
        await host.StartAsync().WithinAsync();
        await host.WaitForShutdownAsync().WithinAsync();
        WorkHostStatistics end = host.WorkerOf().Statistics;
        Assert.Equal((2, 0, 0), (end.Succeeded, end.Failed, end.Redelivered));
        Assert.Equal([3, 3], calls.Values);
        await ((IAsyncDisposable)host).DisposeAsync();
    }

    [Fact(Timeout = Limit)]
    public async Task Policies_CircuitBreaker_IsOneForAllCallsOfTheWorker() => Assert.Equal(
        (10, 3),
        await FailAsync(
            new FormatException(), ("Policies:CircuitBreaker:FailureThreshold", "3"), ("Policies:CircuitBreaker:OpenTimeout", "01:00:00")));

    [Theory(Timeout = Limit)]
    [InlineData("Ratio", "0", 10)]
    [InlineData("Ratio", "0.5", 15)]
    [InlineData("Ratio", "1", 20)]
    public async Task Policies_RetryBudget_IsOneForAllCallsOfTheWorker(string key, string value, int expected) => Assert.Equal(
        (10, expected),
        await FailAsync(
            new TimeoutException(),
            ("Policies:Retry:MaxRetries", "3"), ("Policies:Retry:BaseDelay", "00:00:00"),
            ($"Policies:Retry:Budget:{key}", value), ("Policies:Retry:Budget:MinRetriesPerSecond", "0")));

    [Fact(Timeout = Limit)]
    public async Task Policies_SharedLimit_IsThatOfTheWorkerInPlaceOfItsOwn()
    {
        SharedConcurrencyLimit limit = new(2);
        MemoryWorkQueue<string> queue = await App.QueueAsync(Enumerable.Range(0, 6).Select(static n => $"{n}"));
        queue.Complete();
        using Gate gate = new();
        int inside = 0;
        HostApplicationBuilder builder = App.Create(
            queue,
            async (_, token) =>
            {
                Interlocked.Increment(ref inside);
                await gate.WaitAsync(token);
            },
            ("MaxConcurrency", "6"), ("StopAtEnd", "true"));
        builder.Services.Configure<WeirWorkerOptions>(App.Worker, options => options.Policies = new() { ConcurrencyLimit = limit });
        IHost host = builder.Build();
        await host.StartAsync().WithinAsync();
        await Guard.UntilAsync(() => Volatile.Read(ref inside) == 2 && limit.Waiting == 4, "The items at the limit");
        Assert.Equal(2, inside);
        gate.Open();
        await host.WaitForShutdownAsync().WithinAsync();
        Assert.Equal(6, host.WorkerOf().Statistics.Succeeded);
        await ((IAsyncDisposable)host).DisposeAsync();
    }

    [Theory(Timeout = Limit)]
    [InlineData(null, "mails")]
    [InlineData("mails.send", "mails.send")]
    public async Task Runs_NameAndTags_AreThoseOfTheOptionsOrTheWorkers(string? given, string expected)
    {
        string tag = Guid.NewGuid().ToString("N");
        long succeeded = 0;
        using MeterListener listener = new();
        listener.InstrumentPublished = static (instrument, own) =>
        {
            if (instrument.Meter.Name == WeirDiagnostics.MeterName && instrument.Name == "weir.items")
            {
                own.EnableMeasurementEvents(instrument);
            }
        };
        listener.SetMeasurementEventCallback<long>((_, value, tags, _) =>
        {
            Dictionary<string, object?> all = new(tags.ToArray());
            if (tag.Equals(all.GetValueOrDefault("test")) && expected.Equals(all.GetValueOrDefault("weir.operation.name"))
                && "succeeded".Equals(all["weir.outcome"]))
            {
                Interlocked.Add(ref succeeded, value);
            }
        });
        listener.Start();
        MemoryWorkQueue<string> queue = await App.QueueAsync("a", "b", "c");
        queue.Complete();
        (string, string)[] settings = [("StopAtEnd", "true"), ("Tags:test", tag), .. given is null ? [] : new[] { ("OperationName", given) }];
        IHost host = App.Create(queue, static (_, _) => default, settings).Build();
        await host.StartAsync().WithinAsync();
        await host.WaitForShutdownAsync().WithinAsync();
        listener.RecordObservableInstruments();
        Assert.Equal(3, succeeded);
        await ((IAsyncDisposable)host).DisposeAsync();
    }

    // Ten items, each in a call of its own that fails: how many became dead letters, and how many attempts there were.
    private static async Task<(long DeadLettered, int Calls)> FailAsync(Exception error, params (string Key, string Value)[] policies)
    {
        MemoryWorkQueue<string> queue = await App.QueueAsync(Enumerable.Range(0, 10).Select(static n => $"{n}"));
        queue.Complete();
        int calls = 0;
        HostApplicationBuilder builder = App.Create(
            queue,
            (_, _) =>
            {
                Interlocked.Increment(ref calls);
                throw error;
            },
            [
                ("MaxConcurrency", "1"), ("MaxItemsPerCall", "1"), ("MaxConcurrentCalls", "1"), ("MaxAttempts", "1"), ("StopAtEnd", "true"),
                .. policies,
            ]);
        IHost host = builder.Build();
        await host.StartAsync().WithinAsync();
        await host.WaitForShutdownAsync().WithinAsync();
        long letters = host.WorkerOf().Statistics.DeadLettered;
        await ((IAsyncDisposable)host).DisposeAsync();
        return (letters, calls);
    }
}
