namespace Weir.Explore.Rewriting;

/// <summary>The file and line of each instruction of a method, as far as its symbols tell them.</summary>
internal sealed class Lines
{
    private const int Hidden = 0xfeefee;
    private readonly MethodDefinition _method;
    private readonly Dictionary<Instruction, string> _lines = [];

    public Lines(MethodDefinition method)
    {
        _method = method;
        string line = "";
        foreach (Instruction instruction in method.Body.Instructions)
        {
            if (method.DebugInformation.GetSequencePoint(instruction) is { StartLine: not Hidden } point)
            {
                line = $"{Path.GetFileName(point.Document.Url.Replace('\\', '/'))}:{point.StartLine}";
            }

            _lines[instruction] = line;
        }
    }

    public string At(Instruction instruction, string what) => _lines.GetValueOrDefault(instruction) is { Length: > 0 } line
        ? $"{line} {what}"
        : $"{_method.DeclaringType.Name}.{_method.Name} {what}";
}
