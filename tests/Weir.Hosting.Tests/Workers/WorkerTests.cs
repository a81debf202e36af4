using System.Collections.Concurrent;
using System.Runtime.InteropServices;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Weir.Hosting.Tests.Support;

namespace Weir.Hosting.Tests.Workers;

/// <summary>Workers inside an application: scopes, the graceful stop and the other one, and servers that come later.</summary>
[Collection("The exit code of the process")]
public class WorkerTests
{
    private const int Limit = 120_000;

    public static TheoryData<string> Runtimes() => ["concurrent", "parallel", "auto", "direct"];

    [Theory(Timeout = Limit)]
    [MemberData(nameof(Runtimes))]
    public async Task Run_Items_EachHasAScopeOfItsOwn(string runtime)
    {
        string[] values = [.. Enumerable.Range(0, 50).Select(static i => $"{i}")];
        MemoryWorkQueue<string> queue = await App.QueueAsync(values);
        queue.Complete();
        Usage usage = new();
        HostApplicationBuilder builder = App.Create(("Runtime", runtime), ("MaxConcurrency", "4"), ("StopAtEnd", "true"));
        builder.Services.AddSingleton<IWorkQueue<string>>(queue);
        builder.Services.AddSingleton(usage);
        builder.Services.AddScoped<ScopedService>();
        builder.Services.AddWeirWorker<ScopedProcessor>(App.Worker);
        IHost host = builder.Build();

        // It stops by itself, because the queue is complete.
        await host.RunAsync().WithinAsync();

        // The start tries whether a processor can be made.
        Assert.Equal([null, .. values.Order(StringComparer.Ordinal)], usage.All.Order(StringComparer.Ordinal));
        Assert.Equal(0, queue.Count);
    }

    [Fact(Timeout = Limit)]
    public async Task Run_LoggerThrows_ChangesNothing()
    {
        MemoryWorkQueue<string> queue = await App.QueueAsync("a", "bad", "c");
        queue.Complete();
        using ThrowingLoggers loggers = new();
        HostApplicationBuilder builder = App.Create(
            queue, static (item, _) => item.Value == "bad" ? throw new FormatException() : default, ("MaxAttempts", "1"), ("StopAtEnd", "true"));
        builder.Logging.AddProvider(loggers);
        IHost host = builder.Build();
        await host.StartAsync().WithinAsync();
        await host.WaitForShutdownAsync().WithinAsync();
        WorkHostStatistics end = host.WorkerOf().Statistics;
        Assert.Equal((WorkHostState.Stopped, 2, 1, 0), (end.State, end.Succeeded, end.DeadLettered, end.Faults));
        Assert.Single(await queue.DeadLetters.ListAsync().ToListAsync());

        // Start, failed attempt, dead letter and end, each of which threw.
        Assert.Equal(4, loggers.Calls);
        await ((IAsyncDisposable)host).DisposeAsync();
    }

    [Fact(Timeout = Limit)]
    public async Task Lines_ItemFailedAtEachCall_TellAttemptsAndCalls()
    {
        MemoryWorkQueue<string> queue = await App.QueueAsync("bad");
        queue.Complete();
        using KeptTexts lines = new();
        HostApplicationBuilder builder = App.Create(
            queue, static (_, _) => throw new FormatException(), ("MaxAttempts", "1"), ("MaxRetries", "2"), ("StopAtEnd", "true"));
        builder.Logging.AddProvider(lines);
        using IHost host = builder.Build();
        await host.StartAsync().WithinAsync();
        await host.WaitForShutdownAsync().WithinAsync();
        Assert.Equal(
            [
                "Worker mails reads from mails.",
                "Worker mails: attempt 1 of item test/0 has failed. It was the last.",
                "Worker mails stored item test/0 as a dead letter (Failed). Attempts: 1, calls of the processor in the last one: 3.",
                "Worker mails has stopped. Items processed: 0, kept for another attempt: 0, dead letters: 1, returned: 0.",
            ],
            lines.All);
    }

    [Fact(Timeout = Limit)]
    public async Task Stop_ItemRuns_EndsWithinTheGracePeriodAndTheOthersStayInTheQueue()
    {
        using Gate gate = new();
        using Gate runs = new();
        MemoryWorkQueue<string> queue = await App.QueueAsync("a", "b", "c");
        IHost host = App.Create(
            queue,
            async (_, token) =>
            {
                runs.Open();
                await gate.WaitAsync(token);
            },
            ("MaxConcurrency", "1"),
            ("MaxItemsPerCall", "1"),
            ("MaxConcurrentCalls", "1")).Build();
        await host.StartAsync().WithinAsync();
        await runs.WaitAsync();
        Task stop = host.StopAsync();
        await Guard.UntilAsync(() => host.WorkerOf().Statistics.State == WorkHostState.Draining, "The stop");
        Assert.False(stop.IsCompleted);
        gate.Open();
        await stop.WithinAsync();
        WorkHostStatistics end = host.WorkerOf().Statistics;
        Assert.Equal((WorkHostState.Stopped, 1, 2), (end.State, end.Succeeded, end.Returned));
        Assert.Equal(2, queue.Count);
        await ((IAsyncDisposable)host).DisposeAsync();
    }

    [Theory(Timeout = Limit)]
    [InlineData("limit")]
    [InlineData("second stop")]
    [InlineData("abort")]
    public async Task Stop_NoTimeLeft_RunningItemIsCancelledAndReturned(string how)
    {
        using Gate gate = new();
        using Gate runs = new();
        MemoryWorkQueue<string> queue = await App.QueueAsync("a");
        IHost host = App.Create(
            queue,
            async (_, token) =>
            {
                runs.Open();
                await gate.WaitAsync(token);
            }).Build();
        await host.StartAsync().WithinAsync();
        await runs.WaitAsync();
        using CancellationTokenSource limit = new();
        IHostedService service = host.Services.GetServices<IHostedService>().Single();
        Task stop = how == "abort" ? Task.CompletedTask : service.StopAsync(limit.Token);
        switch (how)
        {
            case "limit":
                await limit.CancelAsync();
                break;
            case "second stop":
                await service.StopAsync(CancellationToken.None).WithinAsync();
                break;
            default:
                host.WorkerOf().Abort();
                break;
        }

        await stop.WithinAsync();
        await Guard.UntilAsync(() => host.WorkerOf().Statistics.State == WorkHostState.Stopped, "The end of the worker");
        WorkHostStatistics end = host.WorkerOf().Statistics;
        Assert.Equal((0, 1, 1), (end.Succeeded, end.Returned, queue.Count));
        await host.StopAsync().WithinAsync();
        await ((IAsyncDisposable)host).DisposeAsync();
    }

    [Fact]
    public void SecondSignal_First_IsTheHosts()
    {
        int aborts = 0;
        List<Action<PosixSignalContext>> handlers = [];
        using (SecondSignal signals = new(() => aborts++, (_, handler) =>
        {
            handlers.Add(handler);
            return new MemoryStream();
        }))
        {
            PosixSignalContext first = new(PosixSignal.SIGTERM);
            handlers[1](first);
            Assert.Equal((0, false), (aborts, first.Cancel));

            // Another one counts too: it is asked twice.
            handlers[0](new PosixSignalContext(PosixSignal.SIGINT));
            Assert.Equal(1, aborts);
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Start_ServerComesLater_OpensAgainUntilItIsThere()
    {
        ManualTimeProvider clock = new();
        MemoryWorkQueue<string> queue = await App.QueueAsync("a");
        queue.Complete();
        int left = 2;
        FaultyQueue faulty = new(queue, () => left-- > 0 ? new IOException("No connection.") : null);
        ConcurrentQueue<string> seen = [];
        HostApplicationBuilder builder = App.Create(
            faulty,
            (item, _) =>
            {
                seen.Enqueue(item.Value);
                return default;
            },
            ("SetupAtStart", "true"));
        builder.Services.AddSingleton<TimeProvider>(clock);
        IHost host = builder.Build();
        await host.StartAsync().WithinAsync();
        await Guard.UntilAsync(() => host.WorkerOf().Statistics.Faults == 1, "The first fault");
        Assert.IsType<IOException>(host.WorkerOf().Statistics.LastFault);
        while (seen.IsEmpty)
        {
            clock.Advance(TimeSpan.FromSeconds(1));
            await Guard.PauseAsync();
        }

        await Guard.UntilAsync(() => host.WorkerOf().Statistics.State == WorkHostState.Stopped, "The end");
        Assert.Null(host.WorkerOf().Statistics.LastFault);
        Assert.Equal(3, faulty.Setups);
        await host.StopAsync().WithinAsync();
        await ((IAsyncDisposable)host).DisposeAsync();
    }

    [Fact(Timeout = Limit)]
    public async Task Run_SetupIsWrong_EndsTheApplicationAsAFailure()
    {
        FaultyQueue faulty = new(await App.QueueAsync(), static () => new WorkSetupException("Call SetupAsync once."));
        using KeptTexts lines = new();
        HostApplicationBuilder builder = App.Create(faulty, static (_, _) => default);
        builder.Logging.AddProvider(lines);
        IHost host = builder.Build();
        Environment.ExitCode = 0;
        IHostApplicationLifetime lifetime = host.Services.GetRequiredService<IHostApplicationLifetime>();
        await host.StartAsync().WithinAsync();
        await Guard.UntilAsync(() => lifetime.ApplicationStopping.IsCancellationRequested, "The end of the application");
        Assert.Equal(WorkHostState.Failed, host.WorkerOf().Statistics.State);
        Assert.IsType<WorkSetupException>(host.WorkerOf().Statistics.LastFault);

        Assert.Equal(1, Environment.ExitCode);
        Environment.ExitCode = 0;
        Assert.Equal(["Worker mails has ended: it failed in a way that no repetition mends."], lines.All);

        // The platform decides whether the end says so once more.
        await host.StopAsync().EndsAsync();
        await ((IAsyncDisposable)host).DisposeAsync();
    }

    [Fact(Timeout = Limit)]
    public async Task Run_SetupIsWrongAndTheHostIgnoresIt_IsNoFailureOfTheApplication()
    {
        FaultyQueue faulty = new(await App.QueueAsync(), static () => new WorkSetupException("Call SetupAsync once."));
        HostApplicationBuilder builder = App.Create(faulty, static (_, _) => default);
        builder.Services.Configure<HostOptions>(static o => o.BackgroundServiceExceptionBehavior = BackgroundServiceExceptionBehavior.Ignore);
        IHost host = builder.Build();
        Environment.ExitCode = 0;
        await host.StartAsync().WithinAsync();
        await Guard.UntilAsync(() => host.WorkerOf().Statistics.State == WorkHostState.Failed, "The end of the worker");
        await host.StopAsync().EndsAsync();
        Assert.Equal(0, Environment.ExitCode);
        await ((IAsyncDisposable)host).DisposeAsync();
    }

    [Fact(Timeout = Limit)]
    public async Task RunService_SourceFails_EndsTheApplicationAsAFailure()
    {
        HostApplicationBuilder builder = App.Create();
        builder.Services.AddHostedService<FaultyService>();
        IHost host = builder.Build();
        Environment.ExitCode = 0;
        IHostApplicationLifetime lifetime = host.Services.GetRequiredService<IHostApplicationLifetime>();
        await host.StartAsync().WithinAsync();
        await Guard.UntilAsync(() => lifetime.ApplicationStopping.IsCancellationRequested, "The end of the application");
        Assert.Equal(1, Environment.ExitCode);
        Environment.ExitCode = 0;
        await host.StopAsync().EndsAsync();
        await ((IAsyncDisposable)host).DisposeAsync();
    }

    private sealed class FaultyService() : RunService<int>(new RunHealth("faulty"))
    {
        protected override IAsyncEnumerable<int> GetItems() =>
            AsyncEnumerable.Range(0, 1).Select(static x => x == 0 ? throw new InvalidOperationException("The file is gone.") : x);

        protected override ValueTask ProcessAsync(int item, CancellationToken cancellationToken) => default;
    }

    [Fact]
    public void Options_Attempts_AreThoseOfAHost()
    {
        WorkHostOptions<string> host = new() { DeadLetters = new MemoryDeadLetters() };
        WeirWorkerOptions worker = new();
        Assert.Equal((host.MaxAttempts, host.RedeliveryDelays), (worker.MaxAttempts, worker.RedeliveryDelays));
    }

    [Fact(Timeout = Limit)]
    public async Task Run_ItemFails_IsADeadLetterAfterItsAttempts()
    {
        MemoryWorkQueue<string> queue = await App.QueueAsync("a", "b");
        queue.Complete();
        ConcurrentQueue<string> calls = [];
        IHost host = App.Create(
            queue,
            (item, _) =>
            {
                calls.Enqueue($"{item.Value}{item.Attempt}");
                return item.Value == "b" ? throw new TestException("No.") : default;
            },
            ("MaxAttempts", "2"),
            ("RedeliveryDelays", "00:00:00"),
            ("StopAtEnd", "true")).Build();
        await host.RunAsync().WithinAsync();
        Assert.Equal(["a1", "b1", "b2"], calls.Order(StringComparer.Ordinal));
        DeadLetter letter = (await queue.DeadLetters.FindAsync("test/1"))!;
        Assert.Equal((DeadLetterReason.Failed, 2), (letter.Reason, letter.Attempts));
    }
}
