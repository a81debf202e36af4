using System.Globalization;

namespace Weir.Logging;

/// <summary>The parts of sentences that depend on a name, which nobody need give, or on a number.</summary>
internal static class Words
{
    /// <summary>The operator or the runtime's method, and the run's name if it has one.</summary>
    public static string Run(string operation, string name) => name.Length == 0 ? operation : $"{operation} {name}";

    /// <summary>A run whose operator is not known.</summary>
    public static string SomeRun(string name) => name.Length == 0 ? "a run" : name;

    public static string Host(string name) => name.Length == 0 ? "A work host" : name;

    public static string Circuit(string name) => name.Length == 0 ? "A circuit" : $"The circuit {name}";

    public static string Items(int? count) => count switch
    {
        null => "an unknown number of items",
        1 => "1 item",
        { } number => string.Create(CultureInfo.InvariantCulture, $"{number} items"),
    };

    public static string AndOthers(int others) => others switch
    {
        0 => "",
        1 => ", and so has 1 other since the last line",
        _ => string.Create(CultureInfo.InvariantCulture, $", and so have {others} others since the last line"),
    };

    public static string WaitAtTheir(int count) =>
        count == 1 ? "1 item waits at its" : string.Create(CultureInfo.InvariantCulture, $"{count} items wait at their");
}
