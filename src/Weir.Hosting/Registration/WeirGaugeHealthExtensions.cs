using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace Weir.Hosting;

/// <summary>Adds the health check of gauges.</summary>
public static class WeirGaugeHealthExtensions
{
    /// <summary>Adds a check over all gauges of the application: whether they can be read, and are not above the limits of their options.</summary>
    /// <param name="builder">The health checks of the application.</param>
    /// <param name="failureStatus">What it reports if not.</param>
    /// <returns>The builder.</returns>
    /// <remarks>
    /// The check <see cref="WeirHealth.Backlog"/> asks no server: it looks at the last reading. A stream whose log is lost, or no longer kept, is always
    /// reported. Do not let it restart or disconnect the process: nothing gets better that way.
    /// </remarks>
    /// <exception cref="ArgumentNullException"><paramref name="builder"/> is <see langword="null"/>.</exception>
    public static IHealthChecksBuilder AddWeirGauges(this IHealthChecksBuilder builder, HealthStatus failureStatus = HealthStatus.Unhealthy)
    {
        ArgumentNullException.ThrowIfNull(builder);
        return builder.Add(new HealthCheckRegistration(
            WeirHealth.Backlog, static services => new GaugeCheck(services.GetServices<GaugeService>()), failureStatus, [WeirHealth.BacklogTag]));
    }
}
