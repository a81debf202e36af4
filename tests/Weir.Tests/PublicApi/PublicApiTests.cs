using System.ComponentModel;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace Weir.Tests.PublicApi;

/// <summary>
/// The public API of each package is a text file, so that a change of it is seen in review. A wanted change is accepted with
/// WEIR_ACCEPT_API=1, which writes the file anew.
/// </summary>
public class PublicApiTests
{
    public static TheoryData<string> Packages() => [.. PackageNames.All];

    [Theory]
    [MemberData(nameof(Packages))]
    public void Package_PublicApi_IsTheReviewedOne(string package)
    {
        Assembly assembly = Assembly.Load(package);
        string actual = ApiText.Of(assembly);
        string file = Path.Combine(Folder(), package + ".txt");
        if (Environment.GetEnvironmentVariable("WEIR_ACCEPT_API") == "1")
        {
            File.WriteAllText(file, actual);
        }

        string[] reviewed = File.Exists(file) ? File.ReadAllLines(file) : [];
        string[] now = actual.TrimEnd('\n').Split('\n');
        string[] changes = [.. Missing(reviewed, now, "- "), .. Missing(now, reviewed, "+ ")];
        Assert.True(
            reviewed.SequenceEqual(now),
            $"The public API of {package} is not the reviewed one of PublicApi/{package}.txt. If the change is wanted, run this test with WEIR_ACCEPT_API=1 "
            + $"and put the file into the same commit.\n{string.Join('\n', changes)}");
    }

    [Theory]
    [MemberData(nameof(Packages))]
    public void Package_Options_ShowAtMostTwentyNames(string package)
    {
        foreach (Type type in Assembly.Load(package).GetExportedTypes().Where(static t => t.Name.Split('`')[0].EndsWith("Options", StringComparison.Ordinal)))
        {
            string[] shown =
            [
                .. type.GetProperties()
                    .Where(static p => p.GetCustomAttribute<EditorBrowsableAttribute>()?.State != EditorBrowsableState.Never)
                    .Select(static p => p.Name),
            ];

            // The names of a worker are the keys of its configuration, which a group would only make deeper. The three time limits of a run are called as
            // those of a chain and of a runtime's call are, and are looked for side by side. A checkpoint is looked for where a run is written, too.
            int most = type.Name switch { "WeirWorkerOptions" => 21, "ParallelRunOptions" => 22, _ => 20 };
            Assert.True(shown.Length <= most, $"{type.Name} shows {shown.Length} names: put rare ones into a group. {string.Join(", ", shown)}");
        }
    }

    [Fact]
    public void Methods_OfOneName_ShowAtMostEighteenOverloads()
    {
        // What an editor lists behind a dot: the methods of the type with the most of that name, and all extensions of that name, of whatever package.
        MethodInfo[] methods =
        [
            .. PackageNames.All.SelectMany(static p => Assembly.Load(p).GetExportedTypes()).SelectMany(static t => t.GetMethods())
                .Where(static m => m.GetCustomAttribute<EditorBrowsableAttribute>()?.State != EditorBrowsableState.Never),
        ];
        var shown = methods.GroupBy(static m => m.Name).Select(static g =>
        (
            g.Key,
            Count: g.Count(static m => m.IsDefined(typeof(ExtensionAttribute)))
                + g.Where(static m => !m.IsDefined(typeof(ExtensionAttribute))).GroupBy(static m => m.ReflectedType).Select(static t => t.Count()).DefaultIfEmpty().Max()
        )).OrderByDescending(static s => s.Count).ToArray();
        Assert.Equal(("SelectParallelAsync", 18), shown.Single(static s => s.Key == "SelectParallelAsync"));
        Assert.Equal([], shown.Where(static s => s.Count > 18));
    }

    [Fact]
    public void ApiText_KnownMembers_AreWrittenAsInCode()
    {
        string text = ApiText.Of(typeof(ParallelOperators).Assembly);
        Assert.Contains(
            "    public static Task<List<TResult>> SelectParallelAsync<TSource, TResult>(this IEnumerable<TSource> source, "
            + "Func<TSource, CancellationToken, ValueTask<TResult>> selector, ParallelRunOptions? options = null, CancellationToken cancellationToken = "
            + "default)\n",
            text,
            StringComparison.Ordinal);
        Assert.Contains("    public int MaxDegreeOfParallelism { get; init; }\n", text, StringComparison.Ordinal);
        Assert.Contains("    public Func<int, Exception, ValueTask<bool>>? OnErrorAsync { get; init; }\n", text, StringComparison.Ordinal);
        Assert.Contains("    CollectAndContinue = 1,\n", ApiText.Of(typeof(ErrorMode).Assembly), StringComparison.Ordinal);
    }

    private static IEnumerable<string> Missing(string[] from, string[] other, string sign) => from.Except(other).Select(line => sign + line.Trim());

    private static string Folder([CallerFilePath] string path = "")
    {
        if (Directory.Exists(Path.GetDirectoryName(path)))
        {
            return Path.GetDirectoryName(path)!;
        }

        // A deterministic build does not say where it was built.
        return Path.Combine(Repository.Root, "tests", "Weir.Tests", "PublicApi");
    }
}
