using System.Globalization;
using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace Weir.Hosting;

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
