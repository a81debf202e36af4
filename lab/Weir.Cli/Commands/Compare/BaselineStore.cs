namespace Weir.Cli.Commands.Compare;

/// <summary>Results that are stored under a name, as files in a directory, so that they can be kept with the code.</summary>
internal sealed class BaselineStore(string directory)
{
    public const string DefaultDirectory = ".weir-baselines";

    /// <summary>The names, in order.</summary>
    public IReadOnlyList<string> Names() => Directory.Exists(directory)
        ? [.. Directory.EnumerateFiles(directory, "*.json").Select(static f => Path.GetFileNameWithoutExtension(f)).Order(StringComparer.Ordinal)]
        : [];

    /// <summary>Stores a result, and replaces one of the same name.</summary>
    public string Save(string name, ResultFile result)
    {
        string path = PathOf(name);
        ResultOutput.WriteFile(path, ResultJson.Write(result) + "\n");
        return path;
    }

    public ResultFile Load(string name)
    {
        string path = PathOf(name);
        if (!File.Exists(path))
        {
            IReadOnlyList<string> names = Names();
            throw new BadInputException($"There is no baseline '{name}' in '{directory}'{(names.Count > 0 ? $"; there are {string.Join(", ", names)}" : "")}. "
                + $"Keep one with 'weir baseline save {name} FILE'.");
        }

        return ResultJson.Read(path);
    }

    private string PathOf(string name) =>
        name.Length is > 0 and <= 100 && name.All(static c => char.IsAsciiLetterOrDigit(c) || c is '-' or '_' or '.') && name[0] != '.'
        ? Path.Combine(directory, name + ".json")
        : throw new BadInputException($"A baseline's name must be up to 100 letters, digits, '-', '_' and '.'; it is '{name}'.");
}
