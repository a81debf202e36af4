using Weir.Lab.Benchmarks.Building;

namespace Weir.Lab.Benchmarks.Tests;

public class LoadedVersionTests
{
    [Theory]
    [InlineData("0.15.8.0", false)]
    [InlineData("0.15.9.0", false)]
    [InlineData("0.15.2.0", true)]
    [InlineData("0.16.0.0", true)]
    [InlineData("1.15.8.0", true)]
    public void Problem_OfAnotherMinorVersion_NamesBoth(string loaded, bool hasProblem)
    {
        string? problem = LoadedVersion.Problem(new Version("0.15.8.0"), new Version(loaded));

        Assert.Equal(hasProblem, problem is not null);
        Assert.True(problem is null || (problem.Contains("0.15.8", StringComparison.Ordinal) && problem.Contains(loaded[..^2], StringComparison.Ordinal)));
    }

    [Fact]
    public void Loaded_OfTheTests_IsTheRightOne() => LoadedVersion.ThrowIfOther();
}
