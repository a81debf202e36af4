using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using Microsoft.Extensions.Hosting;
using Weir.Hosting.Tests.Support;

namespace Weir.Hosting.Tests.Health;

[Collection("The exit code of the process")]
public class HealthTests
{
    private const int Limit = 120_000;

    [Fact(Timeout = Limit)]
    public async Task Checks_LifeOfAWorker_LiveReadyAndLag()
    {
        using Gate gate = new();
        ManualTimeProvider clock = new();
        MemoryWorkQueue<string> queue = await App.QueueAsync("a");
        Exception? fault = new IOException("No connection.");
        HostApplicationBuilder builder = App.Create(
            new FaultyQueue(queue, () => fault), async (_, token) => await gate.WaitAsync(token), ("MaxLag", "00:01:00"));
        builder.Services.AddSingleton<TimeProvider>(clock);
        builder.Services.AddHealthChecks().AddWeirWorkers();
        IHost host = builder.Build();
        HealthCheckService checks = host.Services.GetRequiredService<HealthCheckService>();
        Assert.Equal(
            (HealthStatus.Healthy, HealthStatus.Unhealthy, HealthStatus.Healthy, "mails has not started"), await CheckAsync(checks));

        await host.StartAsync().WithinAsync();
        await Guard.UntilAsync(() => host.WorkerOf().Statistics.LastFault is not null, "The fault");
        Assert.Equal(
            (HealthStatus.Healthy, HealthStatus.Unhealthy, HealthStatus.Healthy, "mails cannot reach its server"), await CheckAsync(checks));

        fault = null;
        while (host.WorkerOf().Statistics.InFlight == 0)
        {
            // Only while the host waits for the next attempt: while a thread that has read is held up, its batch would become old.
            if (clock.ArmedTimers > 0)
            {
                clock.Advance(TimeSpan.FromSeconds(1));
            }

            await Guard.PauseAsync();
        }

        Assert.Equal((HealthStatus.Healthy, HealthStatus.Healthy, HealthStatus.Healthy, null), await CheckAsync(checks));

        clock.Advance(TimeSpan.FromMinutes(2));
        Assert.Equal((HealthStatus.Healthy, HealthStatus.Healthy, HealthStatus.Degraded, null), await CheckAsync(checks));
        HealthReportEntry lag = (await checks.CheckHealthAsync()).Entries[WeirHealth.Lag];
        Assert.Matches(@"^mails has a batch that was read 00:02:\d\d(\.\d+)? ago, more than 00:01:00$", lag.Description);
        Assert.Matches(@"^Running, 0 succeeded, 0 failed, 0 dead letters, 1 in flight, 00:02:", (string)lag.Data["mails"]);

        Task stop = host.StopAsync();
        await Guard.UntilAsync(() => host.WorkerOf().Statistics.State == WorkHostState.Draining, "The stop");
        Assert.Equal((HealthStatus.Healthy, HealthStatus.Unhealthy, HealthStatus.Degraded, "mails is stopping"), await CheckAsync(checks));
        gate.Open();
        await stop.WithinAsync();
        Assert.Equal((HealthStatus.Healthy, HealthStatus.Healthy, HealthStatus.Healthy, null), await CheckAsync(checks));
        await ((IAsyncDisposable)host).DisposeAsync();
    }

    [Fact(Timeout = Limit)]
    public async Task Checks_WorkerHasFailed_IsNotAlive()
    {
        HostApplicationBuilder builder = App.Create(
            new FaultyQueue(await App.QueueAsync(), static () => new WorkSetupException("Call SetupAsync once.")), static (_, _) => default);
        builder.Services.Configure<HostOptions>(static o => o.BackgroundServiceExceptionBehavior = BackgroundServiceExceptionBehavior.Ignore);
        builder.Services.AddHealthChecks().AddWeirWorkers();
        IHost host = builder.Build();
        await host.StartAsync().WithinAsync();
        await Guard.UntilAsync(() => host.WorkerOf().Statistics.State == WorkHostState.Failed, "The end of the worker");
        HealthReportEntry live = (await host.Services.GetRequiredService<HealthCheckService>().CheckHealthAsync()).Entries[WeirHealth.Live];
        Assert.Equal((HealthStatus.Unhealthy, "mails has failed"), (live.Status, live.Description));
        Assert.IsType<WorkSetupException>(live.Exception);
        await host.StopAsync().WithinAsync();
        await ((IAsyncDisposable)host).DisposeAsync();
    }

    private static async Task<(HealthStatus Live, HealthStatus Ready, HealthStatus Lag, string? Why)> CheckAsync(HealthCheckService checks)
    {
        HealthReport report = await checks.CheckHealthAsync();
        Assert.Equal(
            ["lag", "live", "ready"], report.Entries.SelectMany(static e => e.Value.Tags).Order(StringComparer.Ordinal));
        return (report.Entries[WeirHealth.Live].Status, report.Entries[WeirHealth.Ready].Status, report.Entries[WeirHealth.Lag].Status,
            report.Entries[WeirHealth.Ready].Description);
    }
}
