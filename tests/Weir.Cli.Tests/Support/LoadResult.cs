using System.Text.Json;

namespace Weir.Cli.Tests.Support;

/// <summary>What a command left behind.</summary>
internal sealed record LoadResult(int ExitCode, string Out, string Error)
{
    /// <summary>The lines of the output with their line ends off.</summary>
    public string[] Lines => Out.Split('\n').Select(static line => line.TrimEnd('\r')).ToArray();

    /// <summary>The output as JSON; it fails when there is anything else in it.</summary>
    public JsonElement Json => JsonDocument.Parse(Out).RootElement;

    /// <summary>The results by the name of the runtime.</summary>
    public Dictionary<string, JsonElement> Results =>
        Json.GetProperty("results").EnumerateArray().ToDictionary(static r => r.GetProperty("runtime").GetString()!, static r => r);

    /// <summary>All values of a key of the text form.</summary>
    public string[] Values(string key) =>
        Lines.Where(line => line.StartsWith(key + "=", StringComparison.Ordinal)).Select(line => line[(key.Length + 1)..]).ToArray();

    /// <summary>The only value of a key of the text form.</summary>
    public string Value(string key) => Assert.Single(Values(key));
}
