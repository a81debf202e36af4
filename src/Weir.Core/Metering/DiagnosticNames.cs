namespace Weir.Core.Metering;

/// <summary>The names that all parts of the library use for listeners.</summary>
internal static class DiagnosticNames
{
    /// <summary>The name of the meter and of the activity source.</summary>
    public const string Library = "Weir";

    /// <summary>The assembly without which nobody in the process can listen.</summary>
    public const string ListenersAssembly = "System.Diagnostics.DiagnosticSource";

    public const string Outcome = "weir.outcome";

    public const string ErrorType = "error.type";
}
