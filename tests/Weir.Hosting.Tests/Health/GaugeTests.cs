using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using Weir.Hosting.Tests.Support;

namespace Weir.Hosting.Tests.Health;

/// <summary>Gauges of an application: their health check, their log lines, their options, and their end.</summary>
public sealed class GaugeTests : IDisposable
{
    private const int Limit = 120_000;
    private readonly ManualTimeProvider _clock = new();
    private readonly KeptTexts _lines = new("Weir.Gauges");
    private Func<WorkStatistics> _answer = static () => new WorkStatistics();

    public void Dispose() => _lines.Dispose();

    [Theory(Timeout = Limit)]
    [InlineData("MaxWaiting", "10", "10", null)]
    [InlineData("MaxWaiting", "10", "1234567", "g has 1,234,567 items that wait, more than 10")]
    [InlineData("MaxWaitingMessages", "10", "11", "g has 11 messages that wait, more than 10")]
    [InlineData("MaxDeadLetters", "0", "1", "g has 1 dead letters, more than 0")]
    [InlineData("MaxLagBytes", "10", "11", "g has 11 bytes of log to process, more than 10")]
    [InlineData("MaxRetainedBytes", "10000000000", "10000000001", "g has 10,000,000,001 bytes of log on the server's disk, more than 10,000,000,000")]
    [InlineData("MaxOldestAge", "00:05:00", "300", null)]
    [InlineData("MaxOldestAge", "00:05:00", "301", "g has an item that has been waiting for 00:05:01, more than 00:05:00")]
    [InlineData("MaxLag", "00:01:00", "60", null)]
    [InlineData("MaxLag", "00:01:00", "61", "g has been behind for 00:01:01, more than 00:01:00")]
    public async Task Check_Limit_IsUnhealthyAboveIt(string limit, string most, string value, string? problem)
    {
        long number = long.Parse(value, System.Globalization.CultureInfo.InvariantCulture);
        _answer = () => new WorkStatistics
        {
            Waiting = number, WaitingMessages = number, DeadLetters = number, LagBytes = number, RetainedBytes = number,
            OldestAge = TimeSpan.FromSeconds(number), Lag = TimeSpan.FromSeconds(number), LogState = WorkLogState.Extended,
        };
        using IHost host = await StartAsync((limit, most));
        HealthReportEntry entry = await CheckAsync(host);
        Assert.Equal((problem is null ? HealthStatus.Healthy : HealthStatus.Unhealthy, problem), (entry.Status, entry.Description));
        Assert.Equal(["backlog"], entry.Tags);
        Assert.Contains("waiting", (string)entry.Data["g"], StringComparison.Ordinal);
        await host.StopAsync().WithinAsync("the stop");
    }

    [Theory(Timeout = Limit)]
    [InlineData("MaxWaiting")]
    [InlineData("MaxOldestAge")]
    [InlineData("MaxLag")]
    [InlineData("MaxRetainedBytes")]
    public async Task Check_LimitOfWhatTheServerDoesNotKnow_SaysSo(string limit)
    {
        using IHost host = await StartAsync((limit, limit is "MaxOldestAge" or "MaxLag" ? "00:05:00" : "10"));
        HealthReportEntry entry = await CheckAsync(host);
        Assert.Equal(
            (HealthStatus.Unhealthy, $"g is to be checked against {limit}, which its server does not know: set another limit"),
            (entry.Status, entry.Description));
        await host.StopAsync().WithinAsync("the stop");
    }

    [Theory(Timeout = Limit)]
    [InlineData(WorkLogState.Lost, "g has lost changes: the server has removed some of the log that it needs")]
    [InlineData(WorkLogState.Unreserved, "g may lose changes at any time: the server no longer keeps the log that it needs")]
    [InlineData(WorkLogState.Reserved, null)]
    public async Task Check_LogState_IsSaidWithoutALimit(WorkLogState state, string? problem)
    {
        _answer = () => new WorkStatistics { LogState = state };
        using IHost host = await StartAsync();
        Assert.Equal(problem, (await CheckAsync(host)).Description);
        await host.StopAsync().WithinAsync("the stop");
    }

    [Fact(Timeout = Limit)]
    public async Task Reading_FailsAndSucceedsAgain_IsLoggedOnceAndChecked()
    {
        int readings = 0;
        _answer = () => ++readings is 2 or 3 ? throw new IOException("No connection.") : new WorkStatistics { Waiting = readings };
        using IHost host = await StartAsync();
        Assert.Equal("1 waiting", (await CheckAsync(host)).Data["g"]);
        for (int next = 2; next <= 3; next++)
        {
            await NextAsync(() => Volatile.Read(ref readings) == next);
            HealthReportEntry entry = await CheckAsync(host);
            Assert.Equal((HealthStatus.Unhealthy, "g cannot be read", "no values"), (entry.Status, entry.Description, entry.Data["g"]));
            Assert.IsType<IOException>(entry.Exception);
        }

        await NextAsync(() => _lines.All.Count == 2);
        Assert.Equal(HealthStatus.Healthy, (await CheckAsync(host)).Status);
        Assert.Equal(
            [
                "The gauges of g cannot be read, and have no values until they can. Further failures are not logged until then.",
                "The gauges of g can be read again.",
            ],
            _lines.All);
        await host.StopAsync().WithinAsync("the stop");
        await Guard.UntilAsync(() => _clock.ArmedTimers == 0, "the end of the timers");
        Assert.Equal("g has not been read yet", (await CheckAsync(host)).Description);
    }

    [Theory(Timeout = Limit)]
    [InlineData("Interval", "00:00:00", "Weir:Gauges:g:Interval must be from 100 milliseconds to 1 day; it is 00:00:00.")]
    [InlineData("ReadingTimeout", "02:00:00", "Weir:Gauges:g:ReadingTimeout must be from 100 milliseconds to 1 hour; it is 02:00:00.")]
    [InlineData("MaxWaiting", "-1", "Weir:Gauges:g:MaxWaiting must be zero or more; it is -1.")]
    [InlineData("MaxLag", "00:00:00", "Weir:Gauges:g:MaxLag must be more than zero; it is 00:00:00.")]
    [InlineData("MaxWaiting", "many", "Weir:Gauges:g:MaxWaiting must be a whole number; it is 'many'.")]
    [InlineData("MaxWaitting", "1", "Weir:Gauges:g:MaxWaitting is not an option of gauges; the options are: ")]
    public async Task Start_WrongOption_FailsWithOneSentence(string key, string value, string message)
    {
        OptionsValidationException e = await Assert.ThrowsAsync<OptionsValidationException>(() => StartAsync((key, value)));
        Assert.StartsWith(message, e.Message, StringComparison.Ordinal);
    }

    [Fact(Timeout = Limit)]
    public async Task Queue_OfTheApplication_IsThatOfTheNameOrTheOnlyOne()
    {
        MemoryWorkQueue<string> mails = await App.QueueAsync("a", "b");
        HostApplicationBuilder builder = App.Create();
        builder.Services.AddSingleton<IWorkQueue<string>>(mails);
        builder.Services.AddKeyedSingleton<IWorkQueue<string>>("other", await App.QueueAsync("a", "b", "c"));
        builder.Services.AddWeirGauges<string>("mails", static o => o.MaxWaiting = 1).AddWeirGauges<string>("other");
        builder.Services.AddHealthChecks().AddWeirGauges(HealthStatus.Degraded);
        using IHost host = builder.Build();
        await host.StartAsync().WithinAsync("the start");
        HealthReportEntry entry = default;
        await Guard.UntilAsync(
            () =>
            {
                entry = CheckAsync(host).GetAwaiter().GetResult();
                return !entry.Data.Values.Contains("no values");
            },
            "the readings");
        Assert.Equal((HealthStatus.Degraded, "mails has 2 items that wait, more than 1"), (entry.Status, entry.Description));
        Assert.StartsWith("3 waiting, 0 scheduled, 0 in flight, oldest 00:", (string)entry.Data["other"], StringComparison.Ordinal);
        await host.StopAsync().WithinAsync("the stop");
    }

    [Fact(Timeout = Limit)]
    public async Task Start_WithoutAQueue_SaysWhatToRegister()
    {
        HostApplicationBuilder builder = App.Create();
        builder.Services.AddWeirGauges<string>("mails");
        using IHost host = builder.Build();
        InvalidOperationException e = await Assert.ThrowsAsync<InvalidOperationException>(() => host.StartAsync());
        Assert.StartsWith("The gauges 'mails' need a queue of String items: services.AddSingleton<IWorkQueue<String>>", e.Message, StringComparison.Ordinal);
        Assert.Throws<ArgumentException>(() => builder.Services.AddWeirGauges<string>("mails"));
        Assert.Throws<ArgumentException>(() => builder.Services.AddWeirGauges<string>("a:b"));
    }

    private async Task<IHost> StartAsync(params (string Key, string Value)[] settings)
    {
        HostApplicationBuilder builder = App.Create();
        builder.Configuration.AddInMemoryCollection(
            settings.Select(static s => new KeyValuePair<string, string?>($"Weir:Gauges:g:{s.Key}", s.Value)));
        builder.Services.AddSingleton<TimeProvider>(_clock);
        builder.Logging.AddProvider(_lines);
        builder.Services.AddWeirGauges("g", _ => new Scripted(() => _answer()));
        builder.Services.AddHealthChecks().AddWeirGauges();
        IHost host = builder.Build();
        Assert.Equal("g has not been read yet", (await CheckAsync(host)).Description);
        await host.StartAsync().WithinAsync("the start");
        await Guard.UntilAsync(() => _clock.IsArmedFor(TimeSpan.FromSeconds(15)), "the first reading");
        return host;
    }

    private async Task NextAsync(Func<bool> isThere)
    {
        TimeSpan next = _clock.GetElapsedTime(0) + TimeSpan.FromSeconds(15);
        _clock.Advance(TimeSpan.FromSeconds(15));
        await Guard.UntilAsync(() => isThere() && _clock.IsArmedFor(next + TimeSpan.FromSeconds(15)), "the next reading");
    }

    private static async Task<HealthReportEntry> CheckAsync(IHost host) =>
        (await host.Services.GetRequiredService<HealthCheckService>().CheckHealthAsync()).Entries[WeirHealth.Backlog];

    private sealed class Scripted(Func<WorkStatistics> answer) : IWorkStatistics
    {
        public string Name => "scripted";

        public ValueTask<WorkStatistics> GetStatisticsAsync(CancellationToken cancellationToken = default) => new(answer());
    }
}
