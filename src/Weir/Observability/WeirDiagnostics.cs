namespace Weir.Observability;

/// <summary>The names that the library uses for OpenTelemetry and other listeners. See docs/reference/observability.md.</summary>
public static class WeirDiagnostics
{
    /// <summary>The name of the <see cref="System.Diagnostics.Metrics.Meter"/>, for <c>AddMeter</c>.</summary>
    public const string MeterName = "Weir";

    /// <summary>The name of the <see cref="System.Diagnostics.ActivitySource"/>, for <c>AddSource</c>.</summary>
    public const string ActivitySourceName = "Weir";

    internal static string? Version { get; } = typeof(WeirDiagnostics).Assembly.GetName().Version?.ToString(3);
}
