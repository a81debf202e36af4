using System.Runtime.InteropServices;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using Weir.Resilience;
using Weir.Runtimes;

namespace Weir.Hosting;

/// <summary>Runs a work host from the start of the application to its end.</summary>
internal sealed class WorkerService<TProcessor, T>(string name, IServiceProvider services) : BackgroundService, IWeirWorker
    where TProcessor : class
{
    /// <summary>How long a worker that was aborted has to return items. A processor that ignores its token must not delay the end for longer.</summary>
    private static readonly TimeSpan ReturnLimit = TimeSpan.FromSeconds(5);

    private readonly ILogger _logger = new SafeLogger(services.GetRequiredService<ILoggerFactory>().CreateLogger("Weir.Worker"));
    private readonly TimeProvider _clock = services.GetService<TimeProvider>() ?? TimeProvider.System;
    private readonly IHostApplicationLifetime _lifetime = services.GetRequiredService<IHostApplicationLifetime>();
    private readonly IServiceScopeFactory _scopes = services.GetRequiredService<IServiceScopeFactory>();
    private readonly HostOptions _hostOptions = services.GetRequiredService<IOptions<HostOptions>>().Value;

    // Cancelled by an abort. Never disposed: anybody may abort at any time, and without a timer it holds nothing.
    private readonly CancellationTokenSource _abort = new();

    // Set by the start, and immutable after that.
    private IWorkQueue<T> _queue = null!;
    private IWorkSerializer<T> _serializer = null!;
    private WeirWorkerOptions _options = null!;

    // Atomic: written by the one run of the service, read by anybody. An abort that finds no host has cancelled _abort before, which the run looks at.
    private volatile WorkHost<T>? _host;
    private volatile Exception? _openFault;
    private volatile bool _hasFailed;
    private long _openFaults;

    // Atomic: how often the service was told to stop. The second time aborts.
    private int _stops;

    public string Name => name;

    public WorkHostStatistics Statistics => _host is { } host && !_hasFailed
        ? host.Statistics
        : (_host?.Statistics ?? default) with
        {
            State = _hasFailed ? WorkHostState.Failed : WorkHostState.Created,
            Faults = Volatile.Read(ref _openFaults),
            LastFault = _openFault,
        };

    public void Abort()
    {
        if (!_abort.IsCancellationRequested)
        {
            WorkerLog.Aborted(_logger, name);
        }

        _abort.Cancel();
        _host?.Abort();
    }

    // The host's limit is a timer. A user's logger that throws on it must not end the process.
    private void TryAbort()
    {
        try
        {
            Abort();
        }
        catch (Exception)
        {
            // StopAsync aborts again when its wait has ended.
        }
    }

    public override Task StartAsync(CancellationToken cancellationToken)
    {
        // A wrong registration fails the start, and not the first item.
        _options = services.GetRequiredService<IOptionsMonitor<WeirWorkerOptions>>().Get(name);
        _queue = WorkerServices.Queue<T>(services, name);
        _serializer = WorkerServices.Serializer(services, name, _queue);
        return StartCheckedAsync(cancellationToken);
    }

    public override async Task StopAsync(CancellationToken cancellationToken)
    {
        if (Interlocked.Increment(ref _stops) > 1)
        {
            Abort();
        }

        // The token is cancelled when the host's own limit has passed.
        using (cancellationToken.UnsafeRegister(static worker => ((WorkerService<TProcessor, T>)worker!).TryAbort(), this))
        {
            await base.StopAsync(cancellationToken).ConfigureAwait(false);
        }

        // The reason for the end of the wait may have occurred before its callback was registered.
        if (cancellationToken.IsCancellationRequested)
        {
            Abort();
        }

        if (ExecuteTask is { IsCompleted: false } running)
        {
            await running.WaitAsync(ReturnLimit, _clock, CancellationToken.None).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
    }

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        // Reacts to the stop of the application and not only to that of this service: services stop one after the other, but all workers have the same time.
        using var stop = CancellationTokenSource.CreateLinkedTokenSource(stoppingToken, _lifetime.ApplicationStopping, _abort.Token);
        using SecondSignal? second = _options.AbortAtSecondSignal ? new SecondSignal(Abort) : null;
        try
        {
            await RunAsync(stop.Token).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (stop.IsCancellationRequested)
        {
            // Stopped before the source was open.
        }
        catch (Exception e)
        {
            _openFault = e;
            _hasFailed = true;
            WorkerLog.Ended(_logger, e, name);
            if (_hostOptions.BackgroundServiceExceptionBehavior == BackgroundServiceExceptionBehavior.StopHost)
            {
                // The host stops as it does at the end of a day's work. Whoever started the process, and starts it again if it failed, sees only this.
                Environment.ExitCode = 1;
            }

            throw;
        }
    }

    private async Task RunAsync(CancellationToken stop)
    {
        IWorkSource<T> source = await OpenAsync(stop).ConfigureAwait(false);
        await using (source.ConfigureAwait(false))
        {
            IExecutionRuntime runtime = WorkerRuntimes.Make(_options, _clock);
            await using (runtime.ConfigureAwait(false))
            {
                var host = new WorkHost<T>(source, runtime, ProcessAsync, MakeHostOptions());
                _host = host;
                if (_abort.IsCancellationRequested)
                {
                    host.Abort();
                }

                WorkerLog.Started(_logger, name, source.Name);
                await host.RunAsync(stop).ConfigureAwait(false);
            }
        }

        WorkHostStatistics end = Statistics;
        WorkerLog.Stopped(_logger, name, end.Succeeded, end.Redelivered, end.DeadLettered, end.Returned);
        if (_options.StopAtEnd)
        {
            _lifetime.StopApplication();
        }
    }

    private async Task StartCheckedAsync(CancellationToken cancellationToken)
    {
        AsyncServiceScope scope = _scopes.CreateAsyncScope();
        await using (scope.ConfigureAwait(false))
        {
            _ = scope.ServiceProvider.GetRequiredService<TProcessor>();
        }

        await base.StartAsync(cancellationToken).ConfigureAwait(false);
    }

    private async ValueTask ProcessAsync(WorkItem<T> item, CancellationToken cancellationToken)
    {
        AsyncServiceScope scope = _scopes.CreateAsyncScope();
        await using (scope.ConfigureAwait(false))
        {
            var processor = (IWorkProcessor<T>)(object)scope.ServiceProvider.GetRequiredService<TProcessor>();
            await processor.ProcessAsync(item, cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>Opens the source, and tries again for as long as the server is unavailable.</summary>
    private async ValueTask<IWorkSource<T>> OpenAsync(CancellationToken cancellationToken)
    {
        var policy = new PolicyChain<IWorkSource<T>>(new PolicyChainOptions<IWorkSource<T>>
        {
            Retry = new RetryOptions
            {
                MaxRetries = int.MaxValue,
                BaseDelay = TimeSpan.FromMilliseconds(100),
                MaxDelay = TimeSpan.FromSeconds(5),
                IsTransient = e => MayPass(e) && !cancellationToken.IsCancellationRequested,
            },
            TimeProvider = _clock,
        });
        IWorkSource<T> source = await policy.ExecuteAsync(OpenOnceAsync, cancellationToken).ConfigureAwait(false);
        _openFault = null;
        return source;
    }

    private async ValueTask<IWorkSource<T>> OpenOnceAsync(CancellationToken cancellationToken)
    {
        try
        {
            if (_options.SetupAtStart)
            {
                await _queue.SetupAsync(cancellationToken).ConfigureAwait(false);
            }

            return await _queue.OpenSourceAsync(cancellationToken).ConfigureAwait(false);
        }
        catch (Exception e) when (e is not OperationCanceledException)
        {
            Interlocked.Increment(ref _openFaults);
            _openFault = e;
            if (MayPass(e))
            {
                WorkerLog.Fault(_logger, name, e);
            }

            throw;
        }
    }

    private static bool MayPass(Exception e) => e is not (WorkSetupException or ArgumentException or InvalidOperationException or NotSupportedException);

    private WorkHostOptions<T> MakeHostOptions() => new()
    {
        DeadLetters = _queue.DeadLetters,
        Serializer = _serializer,
        PartitionBy = _options.KeepKeyOrder ? static item => item.Key : null,
        Retry = _options.MaxRetries == 0
            ? null
            : new RetryOptions { MaxRetries = _options.MaxRetries, IsTransient = _options.IsTransient ?? (static _ => true) },
        PerItemTimeout = _options.PerItemTimeout,
        OperationName = _options.OperationName ?? name,
        Tags = _options.Tags,
        MaxAttempts = _options.MaxAttempts,
        RedeliveryDelays = _options.RedeliveryDelays,
        IsTransient = _options.IsTransient,
        MaxItemsInFlight = _options.MaxItemsInFlight,
        MaxItemsPerCall = _options.MaxItemsPerCall,
        MaxConcurrentCalls = _options.MaxConcurrentCalls,
        MaxCrashes = _options.MaxCrashes,
        GracePeriod = OptionsCheck.GracePeriod(_options, _hostOptions),
        Acknowledge = _options.Acknowledge,
        OnFailedAttempt = failed => WorkerLog.Failed(_logger, name, failed),
        OnDeadLetter = letter => WorkerLog.DeadLettered(_logger, name, letter.Id, letter.Attempts, letter.Calls, letter.Reason),
        OnFault = fault => WorkerLog.Fault(_logger, name, fault),
        TimeProvider = _clock,
    };
}

/// <summary>
/// What a worker needs from the services of the application. A service with the name of the worker as its key comes before one without a key.
/// </summary>
internal static class WorkerServices
{
    public static IWorkQueue<T> Queue<T>(IServiceProvider services, string worker) =>
        Find<IWorkQueue<T>>(services, worker) ?? throw Missing<T>(
            worker, "a queue", $"services.AddSingleton<IWorkQueue<{typeof(T).Name}>>(...), with AddKeyedSingleton and \"{worker}\" for a queue of its own");

    public static IWorkStatistics GaugedQueue<T>(IServiceProvider services, string gauges) =>
        Find<IWorkQueue<T>>(services, gauges) ?? throw new InvalidOperationException(
            $"The gauges '{gauges}' need a queue of {typeof(T).Name} items: services.AddSingleton<IWorkQueue<{typeof(T).Name}>>(...), with AddKeyedSingleton "
            + $"and \"{gauges}\" for a queue of its own.");

    /// <summary>The serializer of the queue, or that of the services if the queue has none.</summary>
    /// <exception cref="InvalidOperationException">There are two that could disagree, or none.</exception>
    public static IWorkSerializer<T> Serializer<T>(IServiceProvider services, string worker, IWorkQueue<T> queue)
    {
        IWorkSerializer<T>? registered = Find<IWorkSerializer<T>>(services, worker);
        return queue.Serializer is not { } its
            ? registered ?? Usual<T>() ?? throw Missing<T>(
                worker, "a serializer", $"services.AddSingleton<IWorkSerializer<{typeof(T).Name}>>(WorkSerializer.Json(...))")
            : registered is null || ReferenceEquals(registered, its)
                ? its
                : throw new InvalidOperationException(
                    $"The worker '{worker}' has two serializers of {typeof(T).Name} items, that of its queue '{queue.Name}' and another one in the services: "
                    + "give it to the queue alone, or give the queue the one of the services.");
    }

    private static TService? Find<TService>(IServiceProvider services, string worker)
        where TService : class =>
        services.GetKeyedService<TService>(worker) ?? services.GetService<TService>();

    private static IWorkSerializer<T>? Usual<T>() => WorkSerializer.Text as IWorkSerializer<T> ?? WorkSerializer.Bytes as IWorkSerializer<T>;

    private static InvalidOperationException Missing<T>(string worker, string what, string how) =>
        new($"The worker '{worker}' needs {what} of {typeof(T).Name} items: {how}.");
}

/// <summary>The log lines of a worker. None has the value of an item in it.</summary>
internal static partial class WorkerLog
{
    [LoggerMessage(1, LogLevel.Information, "Worker {Worker} reads from {Source}.")]
    public static partial void Started(ILogger logger, string worker, string source);

    [LoggerMessage(
        2,
        LogLevel.Information,
        "Worker {Worker} has stopped. Items processed: {Succeeded}, kept for another attempt: {Redelivered}, dead letters: {DeadLettered}, "
        + "returned: {Returned}.")]
    public static partial void Stopped(ILogger logger, string worker, long succeeded, long redelivered, long deadLettered, long returned);

    [LoggerMessage(3, LogLevel.Warning, "Worker {Worker} could not open, read, acknowledge or store, and tries again.")]
    public static partial void Fault(ILogger logger, string worker, Exception fault);

    [LoggerMessage(4, LogLevel.Warning, "Worker {Worker} ends its running items.")]
    public static partial void Aborted(ILogger logger, string worker);

    [LoggerMessage(
        5,
        LogLevel.Warning,
        "Worker {Worker} stored item {Id} as a dead letter ({Reason}). Attempts: {Attempts}, calls of the processor in the last one: {Calls}.")]
    public static partial void DeadLettered(ILogger logger, string worker, string id, int attempts, int calls, DeadLetterReason reason);

    [LoggerMessage(6, LogLevel.Warning, "Worker {Worker}: attempt {Attempt} of item {Id} has failed, and the next comes in {DelaySeconds} s.")]
    public static partial void AttemptFailed(ILogger logger, Exception error, string worker, string id, int attempt, double delaySeconds);

    [LoggerMessage(7, LogLevel.Warning, "Worker {Worker}: attempt {Attempt} of item {Id} has failed. It was the last.")]
    public static partial void LastAttemptFailed(ILogger logger, Exception error, string worker, string id, int attempt);

    [LoggerMessage(8, LogLevel.Error, "Worker {Worker} has ended: it failed in a way that no repetition mends.")]
    public static partial void Ended(ILogger logger, Exception failure, string worker);

    public static void Failed(ILogger logger, string worker, FailedAttempt failed)
    {
        if (failed.NextAttemptIn is { } delay)
        {
            AttemptFailed(logger, failed.Error, worker, failed.Id, failed.Attempt, delay.TotalSeconds);
        }
        else
        {
            LastAttemptFailed(logger, failed.Error, worker, failed.Id, failed.Attempt);
        }
    }
}

/// <summary>Calls something at the second signal that asks the process to end. The first one is the host's, which stops the application.</summary>
internal sealed class SecondSignal : IDisposable
{
    private static readonly PosixSignal[] Asking = [PosixSignal.SIGINT, PosixSignal.SIGTERM, PosixSignal.SIGQUIT];
    private readonly Action _abort;
    private readonly IDisposable[] _registrations;
    private int _count;

    public SecondSignal(Action abort, Func<PosixSignal, Action<PosixSignalContext>, IDisposable>? subscribe = null)
    {
        _abort = abort;
        subscribe ??= PosixSignalRegistration.Create;
        _registrations = [.. Asking.Select(signal => subscribe(signal, OnSignal))];
    }

    public void Dispose()
    {
        foreach (IDisposable registration in _registrations)
        {
            registration.Dispose();
        }
    }

    // This does not decide whether the process ends. The handler of the host does; without one, the first signal has ended the process.
    private void OnSignal(PosixSignalContext context)
    {
        if (Interlocked.Increment(ref _count) >= 2)
        {
            _abort();
        }
    }
}
