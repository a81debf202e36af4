using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using Microsoft.Extensions.Options;

namespace Weir.Hosting;

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
