using System.Globalization;
using Microsoft.Extensions.Diagnostics.HealthChecks;

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
