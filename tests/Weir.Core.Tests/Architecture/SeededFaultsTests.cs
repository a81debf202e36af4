using System.Text.RegularExpressions;

namespace Weir.Core.Tests.Architecture;

/// <summary>Do the lists of seeded faults follow the code? Whether tests catch the faults is what tests/Faults/run.py finds out.</summary>
public partial class SeededFaultsTests
{
    public static TheoryData<string> Lists() =>
        [.. Directory.EnumerateFiles(Path.Combine(Repository.Root, "tests", "Faults"), "*.txt").Select(static file => Path.GetFileName(file)).Order()];

    [Theory]
    [MemberData(nameof(Lists))]
    public void Fault_Each_ReplacesATextThatOccursOnce(string list)
    {
        string text = File.ReadAllText(Path.Combine(Repository.Root, "tests", "Faults", list));
        Match[] faults = Fault().Matches(text).ToArray();

        Assert.Equal(text.Split('\n').Count(static line => line.StartsWith("= ", StringComparison.Ordinal)), faults.Length);
        Assert.All(faults, static fault =>
        {
            string code = File.ReadAllText(Path.Combine(Repository.Root, fault.Groups["file"].Value));
            Assert.Equal(2, code.Split(fault.Groups["old"].Value).Length);
            Assert.NotEqual(fault.Groups["old"].Value, fault.Groups["new"].Value);
        });
    }

    [GeneratedRegex(
        @"^= [^\n]+\nfile: (?<file>[^\n]+)\ntests: [^\n]+\n<<<\n(?<old>.*?)\n---\n(?<new>.*?)\n>>>$", RegexOptions.Multiline | RegexOptions.Singleline)]
    private static partial Regex Fault();
}
