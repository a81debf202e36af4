using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Options;
using Weir.Hosting.Tests.Support;
using Weir.Resilience;

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
    [InlineData("OperationName", "", "Weir:Workers:mails:OperationName must be a text that is not empty; it is ''.")]
    [InlineData("Tags:area:city", "Ulm", "Weir:Workers:mails:Tags:area must be a text; it is a section.")]
    [InlineData("Policies", "many", "Weir:Workers:mails:Policies must be a section with options of its own; it is 'many'.")]
    [InlineData("Policies:MaxRetries", "-1", "Weir:Workers:mails:Policies:MaxRetries must be at least 0; it is -1.")]
    [InlineData("Policies:MaxRetries", "often", "Weir:Workers:mails:Policies:MaxRetries must be a whole number; it is 'often'.")]
    [InlineData("Policies:AttemptTimeout", "00:00:00",
        "Weir:Workers:mails:Policies:AttemptTimeout must be more than zero and at most 49 days, or null for none; it is 00:00:00.")]
    [InlineData("Policies:OpenCircuitMode", "Wait", "Weir:Workers:mails:Policies:OpenCircuitMode must be FailFast or WaitForHalfOpen; it is 'Wait'.")]
    [InlineData("Policies:CircuitBreaker", "on", "Weir:Workers:mails:Policies:CircuitBreaker must be a section with options of its own; it is 'on'.")]
    [InlineData("Policies:CircuitBreaker:FailureThreshold", "0",
        "Weir:Workers:mails:Policies:CircuitBreaker:FailureThreshold must be at least 1; it is 0.")]
    [InlineData("Policies:CircuitBreaker:FailureRatio", "half",
        "Weir:Workers:mails:Policies:CircuitBreaker:FailureRatio must be a number such as 2.5; it is 'half'.")]
    [InlineData("Policies:CircuitBreaker:FailureRatio", "0.5",
        "Weir:Workers:mails:Policies:CircuitBreaker: SamplingDuration must be set when FailureRatio is.")]
    [InlineData("Policies:Retry:Budget", "shop", "Weir:Workers:mails:Policies:Retry:Budget must be a section with options of its own; it is 'shop'.")]
    [InlineData("Policies:Retry:Budget:Ratio", "2", "Weir:Workers:mails:Policies:Retry:Budget:ratio must be from 0 to 1; it is 2.")]
    [InlineData("Policies:Retry:Budget:Ratio", "few", "Weir:Workers:mails:Policies:Retry:Budget:Ratio must be a number such as 2.5; it is 'few'.")]
    [InlineData("Policies:RateLimit:TokensPerSecond", "0",
        "Weir:Workers:mails:Policies:RateLimit:TokensPerSecond must be a finite number more than zero; it is 0.")]
    public async Task Start_ValueOutOfRange_SaysTheKeyAndWhatIsAllowed(string key, string value, string message)
    {
        HostApplicationBuilder builder = App.Create(await App.QueueAsync(), static (_, _) => default, (key, value));
        builder.Services.Configure<HostOptions>(static o => o.ShutdownTimeout = TimeSpan.FromSeconds(20));
        IHost host = builder.Build();
        OptionsValidationException error = await Assert.ThrowsAsync<OptionsValidationException>(() => host.StartAsync().WithinAsync());
        Assert.Equal(message, error.Message);
        await ((IAsyncDisposable)host).DisposeAsync();
    }

    [Theory(Timeout = Limit)]
    [InlineData(true, false)]
    [InlineData(false, false)]
    [InlineData(false, true)]
    public async Task Start_SerializerOfTheServices_MustBeThatOfTheQueue(bool isTheSame, bool hasKey)
    {
        var given = new OwnText();
        MemoryWorkQueue<string> queue = new("mails", given);
        HostApplicationBuilder builder = App.Create(queue, static (_, _) => default);
        IWorkSerializer<string> registered = isTheSame ? given : new OwnText();
        if (hasKey)
        {
            builder.Services.AddKeyedSingleton(App.Worker, registered);
        }
        else
        {
            builder.Services.AddSingleton(registered);
        }

        IHost host = builder.Build();
        if (isTheSame)
        {
            await host.StartAsync().WithinAsync();
            await host.StopAsync().WithinAsync();
        }
        else
        {
            InvalidOperationException error = await Assert.ThrowsAsync<InvalidOperationException>(() => host.StartAsync().WithinAsync());
            Assert.Equal(
                "The worker 'mails' has two serializers of String items, that of its queue 'mails' and another one in the services: give it to the queue "
                + "alone, or give the queue the one of the services.",
                error.Message);
        }

        await ((IAsyncDisposable)host).DisposeAsync();
    }

    [Fact(Timeout = Limit)]
    public async Task DeadLetter_QueueWithASerializerOfItsOwn_IsWrittenWithIt()
    {
        MemoryWorkQueue<string> queue = new("mails", new OwnText());
        await using (IWorkSink<string> sink = await queue.OpenSinkAsync())
        {
            await sink.WriteAsync([new WorkItem<string>(new WorkId("a", 0), "x")], null, CancellationToken.None);
        }

        queue.Complete();
        IHost host = App.Create(queue, static (_, _) => throw new TestException("No."), ("MaxAttempts", "1"), ("StopAtEnd", "true")).Build();
        await host.StartAsync().WithinAsync();
        await host.WaitForShutdownAsync().WithinAsync("the end");
        DeadLetter letter = (await queue.DeadLetters.FindAsync("a/0"))!;
        Assert.Equal("own:x", WorkSerializer.Text.Read(letter.Payload.Span));
        await ((IAsyncDisposable)host).DisposeAsync();
    }

    private sealed class OwnText : IWorkSerializer<string>
    {
        public void Write(string value, System.Buffers.IBufferWriter<byte> output) => WorkSerializer.Text.Write($"own:{value}", output);

        public string Read(ReadOnlySpan<byte> bytes) => WorkSerializer.Text.Read(bytes)[4..];
    }

    public static TheoryData<string, ParallelRunOptions> PoliciesOfOtherItems() => new()
    {
        { "Hooks:Items", new() { Hooks = new ItemHooks<string>() } },
        { "ShouldRetry", new() { Retry = new(), ShouldRetry = RetryRule.Of<string>(static _ => true) } },
        { "OnFallback", new() { OnFallback = Fallback.Of(static (_, _) => "") } },
        { "CircuitBreaker", new() { CircuitBreaker = CircuitBreakers.ByKey<string, string>(static s => s, new CircuitBreakerOptions()) } },
        { "RateLimit", new() { RateLimit = RateLimits.ByKey<string, string>(static s => s, new RateLimitOptions()) } },
        { "ConcurrencyLimit", new() { ConcurrencyLimit = ConcurrencyLimits.ByKey<string, string>(static s => s, 2) } },
    };

    [Theory(Timeout = Limit)]
    [MemberData(nameof(PoliciesOfOtherItems), DisableDiscoveryEnumeration = true)]
    public async Task Start_PolicyThatNeedsTheTypeOfItems_IsRefused(string property, ParallelRunOptions policies)
    {
        string[] problems = await ProblemsAsync(options => options.Policies = policies);
        Assert.Contains(
            $"Weir:Workers:mails:Policies:{property} must be null: it depends on the type of the runtime's items, which are not those of the processor.",
            problems);
    }

    [Fact(Timeout = Limit)]
    public async Task Start_PoliciesThatContradict_AreRefused()
    {
        Assert.Equal(
            ["Weir:Workers:mails:Policies:MaxRetries and Weir:Workers:mails:MaxRetries are both set; set only one of them."],
            await ProblemsAsync(static options => (options.MaxRetries, options.Policies) = (1, new ParallelRunOptions { MaxRetries = 1 })));
        Assert.Equal(
            ["Weir:Workers:mails:Policies: AdaptiveConcurrency must be null in the Policies of a runtime: it concerns a run, and not an item."],
            await ProblemsAsync(static options => options.Policies = new() { AdaptiveConcurrency = new AdaptiveConcurrencyOptions() }));
        Assert.Equal(
            ["Weir:Workers:mails:Tags must be without an empty key; it is one with such a key."],
            await ProblemsAsync(static options => options.Tags = [new("", 1)]));
        Assert.Equal(
            ["Weir:Workers:mails:OperationName must be null or a text that is not empty; it is ''."],
            await ProblemsAsync(static options => options.OperationName = ""));
    }

    [Fact(Timeout = Limit)]
    public async Task Options_PoliciesInTheConfiguration_ChangeThoseOfCode()
    {
        HostApplicationBuilder builder = App.Create(
            ("OperationName", "mails.send"), ("Tags:region", "north"), ("Policies:MaxRetries", "4"), ("Policies:BaseDelay", "00:00:02"),
            ("Policies:Retry:MaxDelay", "00:00:20"), ("Policies:BackoffStrategy", "linear"), ("Policies:AttemptTimeout", "00:00:03"),
            ("Policies:OpenCircuitMode", "WaitForHalfOpen"), ("Policies:CircuitBreaker:FailureThreshold", "6"),
            ("Policies:CircuitBreaker:SuccessThreshold", "7"), ("Policies:CircuitBreaker:OpenTimeout", "00:00:08"),
            ("Policies:CircuitBreaker:SamplingDuration", "00:00:09"), ("Policies:CircuitBreaker:FailureRatio", "0.25"),
            ("Policies:CircuitBreaker:SlowCallDuration", "00:00:04"), ("Policies:CircuitBreaker:SlowCallRatio", "0.75"),
            ("Policies:CircuitBreaker:MinimumThroughput", "11"), ("Policies:RateLimit:TokensPerSecond", "12.5"),
            ("Policies:RateLimit:BurstCapacity", "13"), ("Policies:RateLimit:TokensPerOperation", "2"));
        Func<Exception, bool> isTransient = static _ => true;
        builder.Services.AddWeirWorker<DelegateProcessor>(App.Worker, options =>
        {
            options.Tags = [new("region", "south"), new("tier", 1)];
            options.Policies = new() { MaxRetries = 1, IsTransient = isTransient };
        });
        await using ServiceProvider services = builder.Services.BuildServiceProvider();
        WeirWorkerOptions read = services.GetRequiredService<IOptionsMonitor<WeirWorkerOptions>>().Get(App.Worker);
        Assert.Equal("mails.send", read.OperationName);
        Assert.Equal([new("region", "north"), new("tier", 1)], read.Tags!);
        ParallelRunOptions policies = read.Policies!;
        Assert.Equal((4, isTransient), (policies.MaxRetries, policies.IsTransient));
        Assert.Equal((TimeSpan.FromSeconds(2), TimeSpan.FromSeconds(20)), (policies.BaseDelay, policies.Retry!.MaxDelay));
        Assert.Equal(
            (BackoffStrategy.Linear, TimeSpan.FromSeconds(3), OpenCircuitMode.WaitForHalfOpen),
            (policies.BackoffStrategy, policies.AttemptTimeout, policies.OpenCircuitMode));
        Assert.Equal(
            new CircuitBreakerOptions
            {
                FailureThreshold = 6, SuccessThreshold = 7, OpenTimeout = TimeSpan.FromSeconds(8), SamplingDuration = TimeSpan.FromSeconds(9),
                FailureRatio = 0.25, MinimumThroughput = 11, SlowCallDuration = TimeSpan.FromSeconds(4), SlowCallRatio = 0.75,
            },
            policies.CircuitBreaker);
        Assert.Equal(new RateLimitOptions { TokensPerSecond = 12.5, BurstCapacity = 13, TokensPerOperation = 2 }, policies.RateLimit);
    }

    [Theory(Timeout = Limit)]
    [InlineData("MaxAtempts", "Weir:Workers:mails:MaxAtempts is not an option of a worker; the options are: Runtime, MaxConcurrency, ")]
    [InlineData("Policies:Retries", "Weir:Workers:mails:Policies:Retries is not an option of the policies of a worker; the options are: MaxRetries, ")]
    [InlineData("Policies:CircuitBreaker:Open", "Weir:Workers:mails:Policies:CircuitBreaker:Open is not an option of a circuit breaker; the options are: F")]
    [InlineData("Policies:Retry:Budget:Share", "Weir:Workers:mails:Policies:Retry:Budget:Share is not an option of a retry budget; the options are: Ratio, ")]
    [InlineData("Policies:RateLimit:Rate", "Weir:Workers:mails:Policies:RateLimit:Rate is not an option of a rate limit; the options are: TokensPerSecond, ")]
    public async Task Start_MisspeltKey_IsRefused(string key, string message)
    {
        IHost host = App.Create(await App.QueueAsync(), static (_, _) => default, (key, "3")).Build();
        OptionsValidationException error = await Assert.ThrowsAsync<OptionsValidationException>(() => host.StartAsync().WithinAsync());
        Assert.StartsWith(message, error.Message, StringComparison.Ordinal);
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

    /// <summary>What is wrong at the start with options that code has set.</summary>
    private static async Task<string[]> ProblemsAsync(Action<WeirWorkerOptions> configure)
    {
        HostApplicationBuilder builder = App.Create(await App.QueueAsync(), static (_, _) => default);
        builder.Services.Configure(App.Worker, configure);
        IHost host = builder.Build();
        OptionsValidationException error = await Assert.ThrowsAsync<OptionsValidationException>(() => host.StartAsync().WithinAsync());
        await ((IAsyncDisposable)host).DisposeAsync();
        return [.. error.Failures];
    }
}
