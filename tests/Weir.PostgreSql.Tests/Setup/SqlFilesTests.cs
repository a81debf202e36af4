using System.Text.RegularExpressions;

namespace Weir.PostgreSql.Tests.Setup;

/// <summary>Are the files of SQL in the assembly, is each used, and does each say what it answers and what it locks?</summary>
public partial class SqlFilesTests
{
    private static readonly string Sources = Path.Combine(Repository.Root, "src", "Weir.PostgreSql");

    [Fact]
    public void Files_OfTheSources_AreInTheAssembly()
    {
        string[] files = [.. Directory.EnumerateFiles(Sources, "*.sql", SearchOption.AllDirectories).Select(static f => Path.GetFileName(f))];
        Assert.Equal(files.Order(StringComparer.Ordinal), typeof(SqlFiles).Assembly.GetManifestResourceNames().Order(StringComparer.Ordinal));
    }

    [Fact]
    public void Files_EachOfThem_SaysWhatItAnswersAndLocks()
    {
        foreach (string file in Directory.EnumerateFiles(Sources, "*.sql", SearchOption.AllDirectories))
        {
            string[] head = [.. File.ReadLines(file).TakeWhile(static l => l.StartsWith("--", StringComparison.Ordinal))];
            Assert.True(head.Length > 0, $"{file} begins with no comment.");
            string text = File.ReadAllText(file);
            bool isSetup = text.Contains("\nCREATE ", StringComparison.Ordinal) || text.Contains("\nDECLARE ", StringComparison.Ordinal);
            Assert.True(isSetup || head.Any(static l => l.StartsWith("-- Locks: ", StringComparison.Ordinal)), $"{file} does not say what it locks.");
        }
    }

    [Fact]
    public void Files_EachOfThem_IsUsed()
    {
        string code = string.Concat(Directory.EnumerateFiles(Sources, "*.cs", SearchOption.AllDirectories).Select(File.ReadAllText));
        Assert.All(
            Directory.EnumerateFiles(Sources, "*.sql", SearchOption.AllDirectories),
            file => Assert.Contains($"\"{Path.GetFileNameWithoutExtension(file)}\"", code, StringComparison.Ordinal));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Statements_OfAQueue_HaveNeitherCommentsNorPlaceholders(bool isKeyed)
    {
        QueueStatements statements = new("orders", new PostgresWorkQueueOptions { KeepKeyOrder = isKeyed });
        string[] all =
        [
            .. typeof(QueueStatements).GetProperties().Where(static p => p.PropertyType == typeof(string)).Select(p => (string?)p.GetValue(statements)).OfType<string>(),
            .. statements.Tables(),
            .. statements.Upgrade(QueueStatements.Version - 1),
        ];
        Assert.DoesNotContain(all, static s => s.Contains("--", StringComparison.Ordinal) || Placeholder().IsMatch(s));
    }

    // A name may have any characters, such as those of a placeholder.
    [Fact]
    public void Read_ValueThatLooksLikeAPlaceholder_StaysAsItIs()
    {
        QueueStatements statements = new("{packs}", new PostgresWorkQueueOptions());
        Assert.Contains("\"queue_{packs}\"", statements.Take, StringComparison.Ordinal);
    }

    [Fact]
    public void Read_PlaceholderWithoutAValue_IsRefused() =>
        Assert.Contains("{items}", Assert.Throws<InvalidOperationException>(static () => SqlFiles.Plain.Read("take_rows")).Message, StringComparison.Ordinal);

    [Fact]
    public void Read_FileThatIsNotThere_IsRefused() => Assert.Throws<InvalidOperationException>(static () => SqlFiles.Plain.Read("no_such_file"));

    [GeneratedRegex(@"\{[a-z_]+\}")]
    private static partial Regex Placeholder();
}
