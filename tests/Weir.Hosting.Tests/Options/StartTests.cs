using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Options;
using Weir.Hosting.Tests.Support;

namespace Weir.Hosting.Tests.Options;

/// <summary>What is wrong with options and registrations ends the start, with one sentence that says what to do.</summary>
public class StartTests
{
    private const int Limit = 120_000;

    [Theory(Timeout = Limit)]
    [InlineData("MaxAttempts", "0", "Weir:Workers:mails:MaxAttempts must be at least 1; it is 0.")]
    [InlineData("MaxAttempts", "many", "Weir:Workers:mails:MaxAttempts must be a whole number; it is 'many'.")]
    [InlineData("maxattempts", "-3", "Weir:Workers:mails:MaxAttempts must be at least 1; it is -3.")]
    [InlineData("MaxConcurrency", "0", "Weir:Workers:mails:MaxConcurrency must be at least 1; it is 0.")]
    [InlineData("MaxRetries", "-1", "Weir:Workers:mails:MaxRetries must be at least 0; it is -1.")]
    [InlineData("MaxItemsInFlight", "0", "Weir:Workers:mails:MaxItemsInFlight must be at least 1; it is 0.")]
    [InlineData("MaxItemsPerCall", "0", "Weir:Workers:mails:MaxItemsPerCall must be at least 1; it is 0.")]
    [InlineData("MaxConcurrentCalls", "0", "Weir:Workers:mails:MaxConcurrentCalls must be at least 1; it is 0.")]
    [InlineData("MaxCrashes", "0", "Weir:Workers:mails:MaxCrashes must be at least 1; it is 0.")]
    [InlineData("PerItemTimeout", "30", "Weir:Workers:mails:PerItemTimeout must be a time such as 00:00:30; it is '30'.")]
    [InlineData("PerItemTimeout", "00:00:00", "Weir:Workers:mails:PerItemTimeout must be more than zero and at most 49 days; it is 00:00:00.")]
    [InlineData("RedeliveryDelays", "00:00:01, soon", "Weir:Workers:mails:RedeliveryDelays must be times such as 00:00:01 and 00:00:10; one is 'soon'.")]
    [InlineData("RedeliveryDelays:0", "-00:00:01",
        "Weir:Workers:mails:RedeliveryDelays must be at least one time, none negative or longer than 49 days; it is -00:00:01.")]
    [InlineData("Runtime", "Fast", "Weir:Workers:mails:Runtime must be Concurrent, Parallel, Auto or Direct; it is 'Fast'.")]
    [InlineData("Runtime", "1", "Weir:Workers:mails:Runtime must be Concurrent, Parallel, Auto or Direct; it is '1'.")]
    [InlineData("Acknowledge", "never", "Weir:Workers:mails:Acknowledge must be AfterProcessing or OnReceipt; it is 'never'.")]
    [InlineData("KeepKeyOrder", "yes", "Weir:Workers:mails:KeepKeyOrder must be true or false; it is 'yes'.")]
    [InlineData("GracePeriod", "00:00:30",
        "Weir:Workers:mails:GracePeriod must be zero or more, and less than the host's ShutdownTimeout (00:00:20); it is 00:00:30.")]
    [InlineData("MaxLag", "00:00:00", "Weir:Workers:mails:MaxLag must be more than zero; it is 00:00:00.")]
    public async Task Start_ValueOutOfRange_SaysTheKeyAndWhatIsAllowed(string key, string value, string message)
    {
        HostApplicationBuilder builder = App.Create(await App.QueueAsync(), static (_, _) => default, (key, value));
        builder.Services.Configure<HostOptions>(static o => o.ShutdownTimeout = TimeSpan.FromSeconds(20));
        IHost host = builder.Build();
        OptionsValidationException error = await Assert.ThrowsAsync<OptionsValidationException>(() => host.StartAsync().WithinAsync());
        Assert.Equal(message, error.Message);
        await ((IAsyncDisposable)host).DisposeAsync();
    }

    [Fact(Timeout = Limit)]
    public async Task Start_MisspeltKey_IsRefused()
    {
        IHost host = App.Create(await App.QueueAsync(), static (_, _) => default, ("MaxAtempts", "3")).Build();
        OptionsValidationException error = await Assert.ThrowsAsync<OptionsValidationException>(() => host.StartAsync().WithinAsync());
        Assert.StartsWith(
            "Weir:Workers:mails:MaxAtempts is no option of a worker; these are: Runtime, MaxConcurrency, ", error.Message, StringComparison.Ordinal);
        await ((IAsyncDisposable)host).DisposeAsync();
    }

    [Fact(Timeout = Limit)]
    public async Task Options_AllKeys_AreReadAndWinOverCode()
    {
        HostApplicationBuilder builder = App.Create(
            ("Runtime", "parallel"), ("MaxConcurrency", "3"), ("KeepKeyOrder", "true"), ("MaxRetries", "2"), ("PerItemTimeout", "00:00:07"),
            ("MaxAttempts", "9"), ("RedeliveryDelays", "00:00:02, 00:01:00"), ("MaxItemsInFlight", "11"), ("MaxItemsPerCall", "12"),
            ("MaxConcurrentCalls", "13"), ("MaxCrashes", "4"), ("Acknowledge", "OnReceipt"), ("GracePeriod", "00:00:05"), ("SetupAtStart", "true"),
            ("StopAtEnd", "true"), ("AbortAtSecondSignal", "false"), ("MaxLag", "00:10:00"));
        builder.Services.AddWeirWorker<DelegateProcessor>(App.Worker, static o => o.MaxAttempts = 2);
        builder.Services.AddWeirWorker<DelegateProcessor>("others", static o => o.MaxAttempts = 2);
        await using ServiceProvider services = builder.Services.BuildServiceProvider();
        IOptionsMonitor<WeirWorkerOptions> options = services.GetRequiredService<IOptionsMonitor<WeirWorkerOptions>>();
        WeirWorkerOptions read = options.Get(App.Worker);
        Assert.Equal(
            (WorkerRuntime.Parallel, 3, true, 2, TimeSpan.FromSeconds(7), 9),
            (read.Runtime, read.MaxConcurrency, read.KeepKeyOrder, read.MaxRetries, read.PerItemTimeout, read.MaxAttempts));
        Assert.Equal([TimeSpan.FromSeconds(2), TimeSpan.FromMinutes(1)], read.RedeliveryDelays);
        Assert.Equal((11, 12, 13, 4), (read.MaxItemsInFlight, read.MaxItemsPerCall, read.MaxConcurrentCalls, read.MaxCrashes));
        Assert.Equal((AcknowledgePoint.OnReceipt, TimeSpan.FromSeconds(5)), (read.Acknowledge, read.GracePeriod));
        Assert.Equal((true, true, false), (read.SetupAtStart, read.StopAtEnd, read.AbortAtSecondSignal));
        Assert.Equal(TimeSpan.FromMinutes(10), read.MaxLag);
        Assert.Equal(2, options.Get("others").MaxAttempts);
    }

    [Fact(Timeout = Limit)]
    public async Task Start_NoQueue_SaysWhatToRegister()
    {
        HostApplicationBuilder builder = App.Create();
        builder.Services.AddWeirWorker<DelegateProcessor>(App.Worker);
        using IHost host = builder.Build();
        InvalidOperationException error = await Assert.ThrowsAsync<InvalidOperationException>(() => host.StartAsync().WithinAsync());
        Assert.StartsWith(
            "The worker 'mails' needs a queue of String items: services.AddSingleton<IWorkQueue<String>>", error.Message, StringComparison.Ordinal);
    }

    [Fact(Timeout = Limit)]
    public async Task Start_ProcessorCannotBeMade_FailsTheStartAndNotTheItems()
    {
        MemoryWorkQueue<string> queue = await App.QueueAsync("a");
        HostApplicationBuilder builder = App.Create();
        builder.Services.AddSingleton<IWorkQueue<string>>(queue);
        builder.Services.AddWeirWorker<ScopedProcessor>(App.Worker);
        IHost host = builder.Build();
        InvalidOperationException error = await Assert.ThrowsAsync<InvalidOperationException>(() => host.StartAsync().WithinAsync());
        Assert.Contains(nameof(ScopedService), error.Message, StringComparison.Ordinal);
        Assert.Equal(1, queue.Count);
        await ((IAsyncDisposable)host).DisposeAsync();
    }

    [Fact]
    public void AddWeirWorker_BadName_Throws()
    {
        ServiceCollection services = new();
        services.AddWeirWorker<DelegateProcessor>();
        ArgumentException twice = Assert.Throws<ArgumentException>("name", () => services.AddWeirWorker<DelegateProcessor>());
        Assert.Contains("DelegateProcessor", twice.Message, StringComparison.Ordinal);
        Assert.Throws<ArgumentException>("name", () => services.AddWeirWorker<DelegateProcessor>(""));
        Assert.Throws<ArgumentException>("name", () => services.AddWeirWorker<DelegateProcessor>("a:b"));
        Assert.Throws<ArgumentNullException>("services", () => WeirWorkerServiceCollectionExtensions.AddWeirWorker<DelegateProcessor>(null!));
    }
}
