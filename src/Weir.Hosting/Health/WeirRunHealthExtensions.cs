using System.Globalization;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace Weir.Hosting;

/// <summary>Adds the health checks of runs without a queue.</summary>
public static class WeirRunHealthExtensions
{
    /// <summary>Adds a check that is not healthy while the watched runs have stalled, or too many of their items have failed in a row.</summary>
    /// <param name="builder">The health checks of the application.</param>
    /// <param name="health">What watches the runs. The check is called <c>weir-run-NAME</c> and has the tag <see cref="WeirHealth.LagTag"/>.</param>
    /// <param name="failureStatus">What it reports then.</param>
    /// <returns>The builder.</returns>
    /// <exception cref="ArgumentNullException">An argument is <see langword="null"/>.</exception>
    public static IHealthChecksBuilder AddWeirRun(
        this IHealthChecksBuilder builder, RunHealth health, HealthStatus failureStatus = HealthStatus.Degraded)
    {
        ArgumentNullException.ThrowIfNull(builder);
        ArgumentNullException.ThrowIfNull(health);
        return builder.Add(new HealthCheckRegistration($"weir-run-{health.Name}", _ => new RunCheck(health), failureStatus, [WeirHealth.LagTag]));
    }
}

/// <summary>The health check of watched runs.</summary>
internal sealed class RunCheck(RunHealth health) : IHealthCheck
{
    public Task<HealthCheckResult> CheckHealthAsync(HealthCheckContext context, CancellationToken cancellationToken = default)
    {
        RunControlSnapshot now = health.Now;
        Dictionary<string, object> data = new()
        {
            [health.Name] = string.Create(
                CultureInfo.InvariantCulture,
                $"{now.Succeeded} succeeded, {now.Failed} failed, {health.FailuresInARow} in a row, {now.InFlight} in flight"),
        };
        string? problem = health.IsStalled
            ? FormattableString.Invariant($"{health.Name} has {now.InFlight} items in flight, and none has begun or ended for {health.SinceMoved:c}")
            : health.FailuresInARow is var failures && failures >= health.MaxFailuresInARow
                ? FormattableString.Invariant($"{health.Name} has failed with its last {failures} items")
                : null;
        return Task.FromResult(problem is null
            ? HealthCheckResult.Healthy(data: data)
            : new HealthCheckResult(context.Registration.FailureStatus, problem, health.LastFailure, data));
    }
}
