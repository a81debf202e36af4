using System.Globalization;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using Microsoft.Extensions.Options;

namespace Weir.Hosting;

/// <summary>A health check over all workers: the worst of them decides, and each that is not healthy is described.</summary>
/// <param name="workers">The workers.</param>
/// <param name="findProblem">Says in a clause what is wrong with a worker; null if nothing is.</param>
internal sealed class WorkerCheck(IEnumerable<IWeirWorker> workers, Func<IWeirWorker, WorkHostStatistics, string?> findProblem) : IHealthCheck
{
    public Task<HealthCheckResult> CheckHealthAsync(HealthCheckContext context, CancellationToken cancellationToken = default)
    {
        List<string> problems = [];
        Dictionary<string, object> data = [];
        Exception? fault = null;
        foreach (IWeirWorker worker in workers)
        {
            WorkHostStatistics now = worker.Statistics;
            data[worker.Name] = string.Create(
                CultureInfo.InvariantCulture,
                $"{now.State}, {now.Succeeded} succeeded, {now.Failed} failed, {now.DeadLettered} dead letters, {now.InFlight} in flight, {now.Lag:c} lag");
            if (findProblem(worker, now) is { } problem)
            {
                problems.Add($"{worker.Name} {problem}");
                fault ??= now.LastFault;
            }
        }

        return Task.FromResult(problems.Count == 0
            ? HealthCheckResult.Healthy(data: data)
            : new HealthCheckResult(context.Registration.FailureStatus, string.Join("; ", problems), fault, data));
    }

    public static string? Live(IWeirWorker worker, WorkHostStatistics now) => now.State == WorkHostState.Failed ? "has failed" : null;

    public static string? Ready(IWeirWorker worker, WorkHostStatistics now) => now switch
    {
        { LastFault: not null } => "cannot reach its server",
        { State: WorkHostState.Created } => "has not started",
        { State: WorkHostState.Draining } => "is stopping",
        { State: WorkHostState.Failed } => "has failed",
        _ => null,
    };
}

/// <summary>Adds the health checks of the workers.</summary>
public static class WeirWorkerHealthExtensions
{
    /// <summary>Adds three checks over all workers of the application: whether they are alive, ready, and keep up. See <see cref="WeirHealth"/>.</summary>
    /// <param name="builder">The health checks of the application.</param>
    /// <returns>The builder.</returns>
    /// <remarks>
    /// A worker that is not alive or ready is unhealthy; one that does not keep up is degraded. The data of each result have a line for each worker.
    /// </remarks>
    /// <exception cref="ArgumentNullException"><paramref name="builder"/> is <see langword="null"/>.</exception>
    public static IHealthChecksBuilder AddWeirWorkers(this IHealthChecksBuilder builder)
    {
        ArgumentNullException.ThrowIfNull(builder);
        builder.Add(Check(WeirHealth.Live, WeirHealth.LiveTag, HealthStatus.Unhealthy, static _ => WorkerCheck.Live));
        builder.Add(Check(WeirHealth.Ready, WeirHealth.ReadyTag, HealthStatus.Unhealthy, static _ => WorkerCheck.Ready));
        return builder.Add(Check(WeirHealth.Lag, WeirHealth.LagTag, HealthStatus.Degraded, static services =>
        {
            IOptionsMonitor<WeirWorkerOptions> options = services.GetRequiredService<IOptionsMonitor<WeirWorkerOptions>>();
            return (worker, now) => options.Get(worker.Name).MaxLag is var most && now.Lag > most
                ? FormattableString.Invariant($"has a batch that was read {now.Lag:c} ago, more than {most:c}")
                : null;
        }));
    }

    private static HealthCheckRegistration Check(
        string name, string tag, HealthStatus failure, Func<IServiceProvider, Func<IWeirWorker, WorkHostStatistics, string?>> findProblem) =>
        new(name, services => new WorkerCheck(services.GetServices<IWeirWorker>(), findProblem(services)), failure, [tag]);
}
