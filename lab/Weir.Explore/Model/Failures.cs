namespace Weir.Explore.Model;

/// <summary>Exceptions that nobody takes.</summary>
internal static class Failures
{
    public static void NobodyTakes(Exception error) =>
        Points.Me.Execution.Fail(FailureKind.UnhandledException, $"An exception that nobody takes: {error.GetType().Name}: {error.Message}", error);
}
