using System.Text.Json;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.Support;

/// <summary>What a command left behind.</summary>
internal sealed record LoadResult(int ExitCode, string Out, string Error)
{
    /// <summary>The lines of the output with their line ends off.</summary>
    public string[] Lines => Out.Split('\n').Select(static line => line.TrimEnd('\r')).ToArray();

    /// <summary>The output as JSON; it fails when there is anything else in it.</summary>
    public JsonElement Json => JsonDocument.Parse(Out).RootElement;

    /// <summary>The output as a result file; it fails when there is anything else in it.</summary>
    public ResultFile File => ResultJson.Parse(Out, "output");

    /// <summary>The figures by the name of the runtime or peer; <see langword="null"/> for one that was not measured.</summary>
    public Dictionary<string, PassFigures?> Figures =>
        File.Arms.ToDictionary(static a => a.Settings.GetValueOrDefault(PassFigures.Runtime, a.Name), a => PassFigures.Of(a, File.Arms));

    /// <summary>All values of a key of the text form.</summary>
    public string[] Values(string key) =>
        Lines.Where(line => line.StartsWith(key + "=", StringComparison.Ordinal)).Select(line => line[(key.Length + 1)..]).ToArray();

    /// <summary>The only value of a key of the text form.</summary>
    public string Value(string key) => Assert.Single(Values(key));
}
