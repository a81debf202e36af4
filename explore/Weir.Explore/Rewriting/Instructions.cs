namespace Weir.Explore.Rewriting;

/// <summary>What stands around an instruction.</summary>
internal static class Instructions
{
    /// <summary>The first prefix of a call or an access; itself if it has none.</summary>
    public static Instruction First(Instruction instruction)
    {
        while (instruction.Previous is { OpCode.OpCodeType: OpCodeType.Prefix } previous)
        {
            instruction = previous;
        }

        return instruction;
    }

    /// <summary>What is before a call or an access and its prefixes, such as that of a volatile one.</summary>
    public static Instruction? Before(Instruction instruction) => First(instruction).Previous;

    /// <summary>The call or access behind its prefixes.</summary>
    public static Instruction Last(Instruction first)
    {
        while (first.OpCode.OpCodeType == OpCodeType.Prefix)
        {
            first = first.Next;
        }

        return first;
    }

    /// <summary>The same, whose prefixes are gone from now on.</summary>
    public static Instruction WithoutPrefixes(this ILProcessor il, Instruction first)
    {
        while (first.OpCode.OpCodeType == OpCodeType.Prefix)
        {
            first = first.Next;
            il.Remove(first.Previous);
        }

        return first;
    }

    /// <summary>Makes room where an instruction is, and where jumps to it come to. Returns what is the instruction now.</summary>
    public static Instruction Move(this ILProcessor il, Instruction instruction)
    {
        Instruction moved = il.Create(OpCodes.Nop);
        (moved.OpCode, moved.Operand) = (instruction.OpCode, instruction.Operand);
        il.InsertAfter(instruction, moved);
        return moved;
    }

    public static VariableDefinition Local(this ILProcessor il, TypeReference type)
    {
        VariableDefinition local = new(type);
        il.Body.Variables.Add(local);
        il.Body.InitLocals = true;
        return local;
    }
}
