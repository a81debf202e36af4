using System.Globalization;
using System.Text.RegularExpressions;

namespace Weir.Core.Tests.Architecture;

/// <summary>The walks of ARCHITECTURE.md: each file that they name is there, and each list is as long as the page says.</summary>
public partial class WalkTests
{
    [Fact]
    public void Walks_Files_Exist()
    {
        string[] files = [.. Walks().SelectMany(static walk => Step().Matches(walk).Select(static step => step.Groups["file"].Value))];
        Assert.InRange(files.Length, 50, int.MaxValue);
        Assert.All(files, static file => Assert.True(File.Exists(Path.Combine(Repository.Root, "src", file)), $"There is no file src/{file}."));
        Assert.Equal(files.Distinct(), files);
    }

    [Fact]
    public void Walks_Steps_AreNumberedAndCounted()
    {
        string[] walks = Walks();
        Assert.Equal(2, walks.Length);
        Assert.All(walks, static walk =>
        {
            int[] numbers = [.. Step().Matches(walk).Select(static step => int.Parse(step.Groups["number"].Value, CultureInfo.InvariantCulture))];
            Assert.Equal(Enumerable.Range(1, numbers.Length), numbers);
        });

        Assert.Equal(Step().Count(walks[0]), int.Parse(Total().Match(walks[0]).Groups[1].Value, CultureInfo.InvariantCulture));
        Match parts = Parts().Match(walks[1]);
        Assert.Equal(Step().Count(walks[1]), int.Parse(parts.Groups[3].Value, CultureInfo.InvariantCulture));
        Assert.Equal(
            int.Parse(parts.Groups[1].Value, CultureInfo.InvariantCulture),
            int.Parse(parts.Groups[2].Value, CultureInfo.InvariantCulture) + Step().Count(walks[1]));
    }

    private static string[] Walks()
    {
        string page = File.ReadAllText(Path.Combine(Repository.Root, "ARCHITECTURE.md")).ReplaceLineEndings("\n");
        int start = page.IndexOf("\n## Two walks", StringComparison.Ordinal);
        int end = page.IndexOf("\n## ", start + 1, StringComparison.Ordinal);
        return page[start..end].Split("\n### ")[1..];
    }

    [GeneratedRegex("^(?<number>[0-9]+)\\. `(?<file>[^`]+)`", RegexOptions.Multiline)]
    private static partial Regex Step();

    [GeneratedRegex(@"\*\*([0-9]+) files")]
    private static partial Regex Total();

    [GeneratedRegex(@"\*\*([0-9]+) files, where [0-9]+ are the goal:\*\* ([0-9]+) of the first walk and ([0-9]+) of this one")]
    private static partial Regex Parts();
}
