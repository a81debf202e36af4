using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using Microsoft.Extensions.Hosting;
using Weir.Hosting.Tests.Support;

namespace Weir.Hosting.Tests.Health;

/// <summary>Runs without a queue: their health, and a service around one.</summary>
public class RunHealthTests
{
    private const int Limit = 120_000;

    [Fact(Timeout = Limit)]
    public async Task Check_FailuresInARow_IsNotHealthyUntilOneSucceeds()
    {
        RunHealth health = new("orders") { MaxFailuresInARow = 3 };
        List<int> hooks = [];
        List<HealthStatus> seen = [];
        HealthCheckService checks = Checks(health);
        ParallelRunOptions options = health.Watch(new ParallelRunOptions
        {
            MaxDegreeOfParallelism = 1,
            ErrorMode = ErrorMode.BestEffort,
            OnErrorAsync = (index, _) =>
            {
                hooks.Add(index);
                return new ValueTask<bool>(true);
            },
        });

        await new[] { false, true, false, false, false, false, true }.ForEachParallelAsync(
            async (succeeds, _) =>
            {
                seen.Add((await checks.CheckHealthAsync(CancellationToken.None)).Status);
                if (!succeeds)
                {
                    throw new IOException("No server.");
                }
            },
            options,
            TestContext.Current.CancellationToken).WithinAsync();

        Assert.Equal([0, 2, 3, 4, 5], hooks);
        Assert.Equal(
            [HealthStatus.Healthy, HealthStatus.Healthy, HealthStatus.Healthy, HealthStatus.Healthy, HealthStatus.Healthy, HealthStatus.Degraded,
                HealthStatus.Degraded],
            seen);
        Assert.Equal(0, health.FailuresInARow);
    }

    [Fact(Timeout = Limit)]
    public async Task Check_NothingBeginsOrEnds_HasStalled()
    {
        ManualTimeProvider clock = new();
        RunHealth health = new("orders", clock) { StalledAfter = TimeSpan.FromMinutes(1) };
        HealthCheckService checks = Checks(health);

        // Nothing to do for long is no stall.
        clock.Advance(TimeSpan.FromMinutes(10));
        Assert.False(health.IsStalled);

        using Gate gate = new();
        TaskCompletionSource begun = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Task run = new[] { 1 }.ForEachParallelAsync(
            async (_, token) =>
            {
                begun.SetResult();
                await gate.WaitAsync(token);
            },
            health.Watch(),
            TestContext.Current.CancellationToken);
        await begun.Task.WithinAsync();
        clock.Advance(TimeSpan.FromSeconds(59));
        Assert.False(health.IsStalled);
        clock.Advance(TimeSpan.FromSeconds(1));
        Assert.True(health.IsStalled);
        HealthReportEntry entry = (await checks.CheckHealthAsync(TestContext.Current.CancellationToken)).Entries["weir-run-orders"];
        Assert.Equal("orders has 1 items in flight, and none has begun or ended for 00:01:00", entry.Description);
        Assert.Equal("0 succeeded, 0 failed, 0 in a row, 1 in flight", entry.Data["orders"]);

        gate.Open();
        await run.WithinAsync();
        Assert.False(health.IsStalled);
    }

    [Fact]
    public void Options_OutOfRange_AreRefused()
    {
        Assert.Throws<ArgumentException>("name", () => new RunHealth(""));
        Assert.Throws<ArgumentOutOfRangeException>("StalledAfter", () => new RunHealth("a") { StalledAfter = TimeSpan.Zero });
        Assert.Throws<ArgumentOutOfRangeException>("MaxFailuresInARow", () => new RunHealth("a") { MaxFailuresInARow = 0 });
        Assert.Throws<ArgumentException>("options", () => new RunHealth("a").Watch(new ParallelRunOptions { Control = new RunControl() }));
    }

    [Fact(Timeout = Limit)]
    public async Task Service_Stopped_EndsWhatRunsAndLeavesTheRest()
    {
        Channel<string> orders = Channel.CreateUnbounded<string>();
        using Gate gate = new();
        RunHealth health = new("orders");
        Orders service = new(orders.Reader, gate, health);
        HostApplicationBuilder builder = App.Create();
        builder.Services.AddSingleton<IHostedService>(service);
        IHost host = builder.Build();
        await host.StartAsync(TestContext.Current.CancellationToken).WithinAsync();
        orders.Writer.TryWrite("bad");
        orders.Writer.TryWrite("one");

        // A run that is stopped between two reads begins no other, and ends its sequence with the items.
        await Guard.UntilAsync(() => service is { Begun: 2, Asked: 3 }, "Two items, and the wait for the third");

        Task stop = host.StopAsync(CancellationToken.None);
        await Guard.UntilAsync(() => health.Now.IsStopped && service.HasReadAll, "The stop, and the end of the sequence");
        orders.Writer.TryWrite("late");
        Assert.False(stop.IsCompleted);
        gate.Open();
        await stop.WithinAsync();

        Assert.Equal(["one"], service.Done);
        Assert.True(orders.Reader.TryRead(out string? left));
        Assert.Equal("late", left);
        await ((IAsyncDisposable)host).DisposeAsync();
    }

    [Fact(Timeout = Limit)]
    public async Task Service_TimeToStopPasses_CancelsWhatRuns()
    {
        Channel<string> orders = Channel.CreateUnbounded<string>();
        using Gate gate = new();
        Orders service = new(orders.Reader, gate, new RunHealth("orders"));
        await service.StartAsync(TestContext.Current.CancellationToken);
        orders.Writer.TryWrite("one");
        await Guard.UntilAsync(() => service.Begun == 1, "An item");

        await service.StopAsync(new CancellationToken(canceled: true)).WithinAsync();
        await service.ExecuteTask!.WithinAsync();
        Assert.Empty(service.Done);
    }

    private static HealthCheckService Checks(RunHealth health)
    {
        ServiceCollection services = new();
        services.AddLogging();
        services.AddHealthChecks().AddWeirRun(health);
        return services.BuildServiceProvider().GetRequiredService<HealthCheckService>();
    }

    private sealed class Orders(ChannelReader<string> orders, Gate gate, RunHealth health) : RunService<string>(health)
    {
        private int _begun;
        private int _asked;

        public int Begun => Volatile.Read(ref _begun);

        /// <summary>How many items were asked for.</summary>
        public int Asked => Volatile.Read(ref _asked);

        public List<string> Done { get; } = [];

        protected override ParallelRunOptions Options => base.Options with { MaxDegreeOfParallelism = 2 };

        public bool HasReadAll { get; private set; }

        protected override IAsyncEnumerable<string> GetItems() => ReadAsync();

        private async IAsyncEnumerable<string> ReadAsync([EnumeratorCancellation] CancellationToken cancellationToken = default)
        {
            try
            {
                while (true)
                {
                    Interlocked.Increment(ref _asked);
                    yield return await orders.ReadAsync(cancellationToken);
                }
            }
            finally
            {
                HasReadAll = true;
            }
        }

        protected override async ValueTask ProcessAsync(string item, CancellationToken cancellationToken)
        {
            Interlocked.Increment(ref _begun);
            if (item == "bad")
            {
                throw new IOException("No server.");
            }

            await gate.WaitAsync(cancellationToken);
            Done.Add(item);
        }
    }
}
