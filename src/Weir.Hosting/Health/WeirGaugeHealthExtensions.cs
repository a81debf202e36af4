using System.Globalization;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace Weir.Hosting;

/// <summary>
/// A health check over what the gauges have read last: it asks no server. The worst of them decides, and each that is above a limit is described.
/// </summary>
internal sealed class GaugeCheck(IEnumerable<GaugeService> all) : IHealthCheck
{
    public Task<HealthCheckResult> CheckHealthAsync(HealthCheckContext context, CancellationToken cancellationToken = default)
    {
        List<string> problems = [];
        Dictionary<string, object> data = [];
        Exception? fault = null;
        foreach (GaugeService gauges in all)
        {
            if (gauges.Latest is { } now)
            {
                data[gauges.Name] = Line(now);
                problems.AddRange(Problems(gauges.Limits, now).Select(problem => $"{gauges.Name} {problem}"));
                continue;
            }

            data[gauges.Name] = "no values";
            problems.Add($"{gauges.Name} {(gauges.Fault is null ? "has not been read yet" : "cannot be read")}");
            fault ??= gauges.Fault;
        }

        return Task.FromResult(problems.Count == 0
            ? HealthCheckResult.Healthy(data: data)
            : new HealthCheckResult(context.Registration.FailureStatus, string.Join("; ", problems), fault, data));
    }

    private static IEnumerable<string> Problems(WeirGaugeOptions limits, WorkStatistics now) => new[]
    {
        Above(now.Waiting, limits.MaxWaiting, nameof(limits.MaxWaiting), "items that wait"),
        Above(now.WaitingMessages, limits.MaxWaitingMessages, nameof(limits.MaxWaitingMessages), "messages that wait"),
        Above(now.DeadLetters, limits.MaxDeadLetters, nameof(limits.MaxDeadLetters), "dead letters"),
        Above(now.LagBytes, limits.MaxLagBytes, nameof(limits.MaxLagBytes), "bytes of log to process"),
        Above(now.RetainedBytes, limits.MaxRetainedBytes, nameof(limits.MaxRetainedBytes), "bytes of log on the server's disk"),
        now.OldestAge is null && limits.MaxOldestAge is not null
            ? Unknown(nameof(limits.MaxOldestAge))
            : now.OldestAge > limits.MaxOldestAge
                ? string.Create(CultureInfo.InvariantCulture, $"has an item that has been waiting for {now.OldestAge:c}, more than {limits.MaxOldestAge:c}")
                : null,

        // A first reading does not know for how long.
        now.LagBytes is null && limits.MaxLag is not null && now.LogState != WorkLogState.Lost
            ? Unknown(nameof(limits.MaxLag))
            : now.Lag > limits.MaxLag
                ? string.Create(CultureInfo.InvariantCulture, $"has been behind for {now.Lag:c}, more than {limits.MaxLag:c}")
                : null,
        now.LogState == WorkLogState.Lost ? "has lost changes: the server has removed some of the log that it needs" : null,
        now.LogState == WorkLogState.Unreserved ? "may lose changes at any time: the server no longer keeps the log that it needs" : null,
    }.OfType<string>();

    private static string? Above(long? value, long? limit, string option, string what) => limit is not { } most
        ? null
        : value is not { } now
            ? Unknown(option)
            : now > most ? string.Create(CultureInfo.InvariantCulture, $"has {now:N0} {what}, more than {most:N0}") : null;

    private static string Unknown(string option) => $"is to be checked against {option}, which its server does not know: set another limit";

    private static string Line(WorkStatistics now) => string.Join(
        ", ",
        new[]
        {
            Of(now.Waiting, "waiting"),
            Of(now.WaitingMessages, "messages waiting"),
            Of(now.Scheduled, "scheduled"),
            Of(now.ScheduledMessages, "messages scheduled"),
            Of(now.InFlight, "in flight"),
            now.OldestAge is { } age ? string.Create(CultureInfo.InvariantCulture, $"oldest {age:c}") : null,
            Of(now.DeadLetters, "dead letters"),
            Of(now.LagBytes, "bytes behind"),
            now.Lag is { } lag ? string.Create(CultureInfo.InvariantCulture, $"behind for {lag:c}") : null,
            Of(now.RetainedBytes, "bytes retained"),
            now.IsActive is { } active ? active ? "has a reader" : "has no reader" : null,
            now.LogState is { } state ? $"log {state.ToString().ToLowerInvariant()}" : null,
        }.OfType<string>());

    private static string? Of(long? value, string what) => value is { } v ? string.Create(CultureInfo.InvariantCulture, $"{v} {what}") : null;
}

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
