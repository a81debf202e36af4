namespace Weir.Cli.Tests.Support;

/// <summary>What tests share that redirect the output of <c>weir-work</c> in a real shell: the shell, a folder for its files, and a database.</summary>
public abstract class RedirectedTest(TestPostgres postgres) : IClassFixture<TestPostgres>, IAsyncLifetime
{
    private readonly TemporaryDirectory _folder = new();
    private TestDatabase? _database;
    private Shell? _shell;

    protected TestDatabase Database => _database!;

    private protected Shell Shell => _shell!;

    public async ValueTask InitializeAsync()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "The shell is one of Unix.");
        _database = await postgres.CreateDatabaseAsync();
        _shell = new Shell(_folder.Path);
        (int code, string error) = await PrepareAsync();
        Assert.True(code == 0, error);
    }

    public async ValueTask DisposeAsync()
    {
        GC.SuppressFinalize(this);
        if (_shell is not null)
        {
            await _shell.DisposeAsync();
        }

        if (_database is not null)
        {
            await _database.DisposeAsync();
        }

        _folder.Dispose();
    }

    /// <summary>What the shell does before a test.</summary>
    protected abstract Task<(int ExitCode, string Error)> PrepareAsync();

    protected string FileOf(string name) => _folder.File(name);
}
